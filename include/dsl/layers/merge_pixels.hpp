// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/window.hpp>

namespace dsl {

/// Makes one pixel of each square of Side x Side pixels, with the channels of all of them: first those of the square's
/// left column from top to bottom, then those of the next column. This is the order of torchvision's patch merging.
template <int Side>
struct merge_pixels {
  static constexpr value lower(builder& b, value in) {
    bool const fits = b.require(Side > 0 && in.shape.height % Side == 0 && in.shape.width % Side == 0,
                                {.broken = rule::windows_fill_the_image, .first = in.shape, .wanted = Side});
    int const side = fits ? Side : 1;
    return b.append(
        {.kind = op::merge_pixels}, in,
        {detail::narrow(1LL * in.shape.channels * side * side), in.shape.height / side, in.shape.width / side});
  }
};
// merge_pixels<2> on 96x56x56 -> 384x28x28

/// The order of the channels that are the pixels of a square, in the words of ONNX. In crd, those of a square are
/// neighbours, as in PyTorch's nn.PixelShuffle; in dcr, those of one pixel are, as in TensorFlow and Keras.
enum class depth_order { crd, dcr };

/// Makes a square of Side x Side pixels of the channels of each pixel, row by row. It is PyTorch's nn.PixelShuffle or,
/// with depth_order::dcr, TensorFlow's depth_to_space.
template <int Side, depth_order Order = depth_order::crd>
struct depth_to_space {
  static constexpr value lower(builder& b, value in) {
    constexpr long long parts = Side > 0 && Side < 0x8000 ? 1LL * Side * Side : 0;
    bool const fits = b.require(divides(static_cast<int>(parts), in.shape.channels),
                                {.broken = rule::shuffle_divides_the_channels, .first = in.shape, .wanted = parts});
    int const side = fits ? Side : 1, channels = in.shape.channels / (side * side);
    return b.append(
        {.kind = op::depth_to_space, .groups = Order == depth_order::crd ? 1 : channels}, in,
        {channels, detail::narrow(1LL * side * in.shape.height), detail::narrow(1LL * side * in.shape.width)});
  }
};
// depth_to_space<2> on 64x28x28 -> 16x56x56

/// Does the inverse of depth_to_space: makes one pixel of each square, like PyTorch's nn.PixelUnshuffle.
template <int Side, depth_order Order = depth_order::crd>
struct space_to_depth {
  static constexpr value lower(builder& b, value in) {
    bool const fits = b.require(Side > 0 && in.shape.height % Side == 0 && in.shape.width % Side == 0,
                                {.broken = rule::windows_fill_the_image, .first = in.shape, .wanted = Side});
    int const side = fits ? Side : 1;
    return b.append(
        {.kind = op::space_to_depth, .groups = Order == depth_order::crd ? 1 : in.shape.channels}, in,
        {detail::narrow(1LL * in.shape.channels * side * side), in.shape.height / side, in.shape.width / side});
  }
};
// space_to_depth<2> on 16x56x56 -> 64x28x28

}  // namespace dsl
