// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Satisfied by the input of a network: a type with a shape and with a function lower() that takes no value.
template <class T>
concept network_input = requires(value (*lower)(builder&)) {
  lower = &T::lower;
  T::value_shape.channels;
};

namespace detail {

/// Whether the last number of an image may be the number of channels, as in Keras's order: it is 3, 4, or 1, and 1 only
/// if the image is too large to be a one-dimensional signal with as many channels.
constexpr bool looks_like_channels(int width, int height) {
  return width == 3 || width == 4 || (width == 1 && height >= 16);
}

}  // namespace detail

/// The input of a network: images of Channels x Height x Width. The batch size is not part of the type.
template <int Channels, int Height, int Width>
struct image {
  static constexpr shape value_shape{Channels, Height, Width};

  static constexpr value lower(builder& b) {
    b.require(Channels > 0 && Height > 0 && Width > 0, {.broken = rule::image_has_positive_size, .first = value_shape});
    b.require_unless_intended(Channels != Height || Channels <= Width || !detail::looks_like_channels(Width, Height),
                              {.broken = rule::channels_come_first, .first = value_shape});
    return b.append({.kind = op::input}, nullptr, 0, value_shape);
  }
};
// image<3, 32, 32> -> 3x32x32

/// Marks the input of a network that looks like a mistake but is intended: network<intended<image<28, 28, 1>>, ...>. It
/// turns off the rules channels_come_first, filters_come_first, kernel_meets_its_input, kernel_meets_its_sequence,
/// convolutions_see_images, epsilon_is_small, softmax_has_classes and softmax_takes_logits.
template <class Input>
struct intended : Input {
  static constexpr value lower(builder& b) {
    b.set_intended();
    return Input::lower(b);
  }
};

/// An input of Features numbers, without height and width.
template <int Features>
struct features : image<Features, 1, 1> {};

/// An input of Length places with Channels numbers each, such as a time series of Channels measurements: an image of
/// one row. Its numbers come channel after channel.
template <int Channels, int Length>
struct sequence : image<Channels, 1, Length> {};
// sequence<3, 128> -> 3x1x128

/// An input of Length tokens for embedding<...>. Each token is given by its number in a vocabulary, so the input is one
/// row of integers.
template <int Length>
struct token_numbers : image<1, 1, Length> {};
// token_numbers<64> -> 1x1x64

}  // namespace dsl
