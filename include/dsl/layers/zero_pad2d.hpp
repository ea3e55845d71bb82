// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/window.hpp>

namespace dsl {

/// Adds rows and columns of zeros around the image, like PyTorch's nn.ZeroPad2d and Keras's ZeroPadding2D. The numbers
/// are those of pad: zero_pad2d<1> adds one on each side, zero_pad2d<0, 0, 1, 1> a row below and a column on the right.
/// Convolutions and average pools have the option pad instead. Only before a max_pool2d do zeros differ from it, since
/// they can be the maximum.
template <int Top, int Left = Top, int Bottom = Top, int Right = Left>
struct zero_pad2d {
  static constexpr value lower(builder& b, value in) {
    long long rows = in.shape.height, columns = in.shape.width;
    for (int zeros : {Top, Left, Bottom, Right})
      b.require(zeros >= 0, {.broken = rule::padding_is_not_negative, .first = in.shape, .found = zeros});
    for (int zeros : {Top, Bottom}) rows += zeros < 0 ? 0 : zeros;
    for (int zeros : {Left, Right}) columns += zeros < 0 ? 0 : zeros;
    shape const out{in.shape.channels, detail::narrow(rows), detail::narrow(columns)};
    b.require(out.size() <= 0x7fffffffLL, {.broken = rule::tensor_fits_32_bits, .first = out, .found = out.size()});
    return b.append({.kind = op::zero_pad2d, .window = {1, 1, 1, Top < 0 ? 0 : Top, Left < 0 ? 0 : Left}}, in, out);
  }
};
// zero_pad2d<1> on 64x112x112 -> 64x114x114

}  // namespace dsl
