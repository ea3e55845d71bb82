// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/layers/conv2d.hpp>

namespace dsl {
namespace detail {

constexpr value lower_pool2d(builder& b, value in, op kind, int height, int width, int stride) {
  b.require(height > 0 && width > 0,
            {.broken = rule::pool_window_is_positive, .first = in.shape, .second = {1, height, width}});
  b.require(stride > 0, {.broken = rule::stride_is_positive, .first = in.shape, .found = stride});
  b.require(height <= in.shape.height && width <= in.shape.width,
            {.broken = rule::pool_window_fits_input, .first = in.shape, .second = {1, height, width}});
  // max_pool2d remembers where in the window the maximum was, in at most two bytes
  b.require(kind != op::max_pool2d || 1LL * height * width <= 65'536,
            {.broken = rule::pool_window_fits_16_bits, .first = in.shape, .found = 1LL * height * width});
  extent const h = extent_of(in.shape.height, height, stride, padding::valid);
  extent const w = extent_of(in.shape.width, width, stride, padding::valid);
  return b.append({.kind = kind, .window = {height, width, stride, 0, 0}}, in, {in.shape.channels, h.size, w.size});
}

}  // namespace detail

/// The largest value of each Size x Size window, without padding. The first of equal values gets the gradient.
template <int Size, int Stride = Size>
struct max_pool2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool2d(b, in, op::max_pool2d, Size, Size, Stride);
  }
};
// max_pool2d<3, 2> on 80x32x32 -> 80x15x15

/// The mean of each Size x Size window, without padding.
template <int Size, int Stride = Size>
struct avg_pool2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool2d(b, in, op::avg_pool2d, Size, Size, Stride);
  }
};
// avg_pool2d<7> on 336x7x7 -> 336x1x1

/// The mean of each channel, whatever its size.
struct global_avg_pool2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool2d(b, in, op::avg_pool2d, in.shape.height, in.shape.width, 1);
  }
};
// global_avg_pool2d on 336x7x7 -> 336x1x1

}  // namespace dsl
