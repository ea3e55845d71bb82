// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// `same` pads with zeros as TensorFlow does: the output has ceil(input / stride) rows, and an odd row of padding goes
/// after the last. `valid` does not pad.
enum class padding : unsigned char { same, valid };

namespace detail {

/// What does not fit an int breaks a rule elsewhere; until then it is the largest there is.
constexpr int narrow(long long n) { return n > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(n); }

struct extent {
  int size;    // output rows or columns
  int before;  // zeros in front
  int padded;  // input with all its zeros
};

/// extent_of(32, 3, 2, padding::valid) -> {15, 0, 32};  extent_of(32, 3, 1, padding::same) -> {32, 1, 34}
constexpr extent extent_of(int input, int kernel, int stride, padding pad) {
  if (stride < 1 || kernel < 1) return {1, 0, input};
  if (pad == padding::valid) return {input < kernel ? 1 : (input - kernel) / stride + 1, 0, input};
  long long const size = (1LL * input + stride - 1) / stride;
  long long const total = (size - 1) * stride + kernel - input;
  long long const zeros = total > 0 ? total : 0;
  return {static_cast<int>(size), static_cast<int>(zeros / 2), narrow(input + zeros)};
}

struct conv2d_options {
  int filters;
  int height;
  int width;
  int stride;
  padding pad;
  int groups;
};

constexpr value lower_conv2d(builder& b, value in, conv2d_options o) {
  b.require(o.filters > 0, {.broken = rule::filters_are_positive, .first = in.shape, .found = o.filters});
  b.require(o.height > 0 && o.width > 0,
            {.broken = rule::kernel_is_positive, .first = in.shape, .second = {1, o.height, o.width}});
  b.require(o.groups == 1 || (divides(o.groups, in.shape.channels) && divides(o.groups, o.filters)),
            {.broken = rule::groups_divide_the_channels, .first = in.shape, .wanted = o.groups, .found = o.filters});
  b.require(o.stride > 0, {.broken = rule::stride_is_positive, .first = in.shape, .found = o.stride});
  extent const h = extent_of(in.shape.height, o.height, o.stride, o.pad);
  extent const w = extent_of(in.shape.width, o.width, o.stride, o.pad);
  b.require(o.height <= h.padded && o.width <= w.padded, {.broken = rule::kernel_fits_padded_input,
                                                          .first = {in.shape.channels, h.padded, w.padded},
                                                          .second = {o.filters, o.height, o.width}});
  long long const area = narrow(1LL * o.height * o.width);
  int const channels = in.shape.channels / (o.groups > 0 ? o.groups : 1);  // of a group
  b.parameter({.role = role::kernel,
               .dims = {o.filters, channels, o.height, o.width},
               .fan_in = narrow(channels * area),
               .fan_out = narrow(o.filters * area)});
  b.parameter({.role = role::bias, .dims = {o.filters, 1, 1, 1}});
  return b.append({.kind = op::conv2d, .window = {o.height, o.width, o.stride, h.before, w.before}, .groups = o.groups},
                  in, {o.filters, h.size, w.size});
}

}  // namespace detail

/// Cross-correlation with Filters kernels of KernelH x KernelW over all input channels, plus a bias. With several
/// groups the channels and the filters are cut into as many equal parts, and each filter sees its own part alone: as
/// many groups as channels are a depthwise convolution. Kernels start from Glorot's uniform distribution, biases from
/// 0.
template <int Filters, int KernelH, int KernelW = KernelH, int Stride = 1, padding Pad = padding::same, int Groups = 1>
struct conv2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_conv2d(b, in, {Filters, KernelH, KernelW, Stride, Pad, Groups});
  }
};
// conv2d<64, 3, 3> on 3x8x8 -> 64x8x8;  conv2d<80, 3, 3, 2, padding::valid> on 80x32x32 -> 80x15x15
// conv2d<64, 3, 3, 1, padding::same, 64> on 64x8x8 -> 64x8x8, with 64 kernels of 3x3

}  // namespace dsl
