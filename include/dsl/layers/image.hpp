// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Satisfied by the input of a network: it has a shape, and a lower() without a value.
template <class T>
concept network_input = requires(value (*lower)(builder&)) {
  lower = &T::lower;
  T::value_shape.channels;
};

/// The input of a network: pictures of Channels x Height x Width. The batch is not part of the type.
template <int Channels, int Height, int Width>
struct image {
  static constexpr shape value_shape{Channels, Height, Width};

  static constexpr value lower(builder& b) {
    b.require(Channels > 0 && Height > 0 && Width > 0, {.broken = rule::image_has_positive_size, .first = value_shape});
    b.require(Channels != Height || Channels <= Width || Width < 3 || Width > 4,
              {.broken = rule::channels_come_first, .first = value_shape});
    return b.append({.kind = op::input}, nullptr, 0, value_shape);
  }
};
// image<3, 32, 32> -> 3x32x32

/// A flat input of Features numbers.
template <int Features>
struct features : image<Features, 1, 1> {};

}  // namespace dsl
