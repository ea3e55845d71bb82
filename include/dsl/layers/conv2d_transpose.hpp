// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv2d.hpp>

namespace dsl {

namespace detail {

/// The arguments of conv2d, except padding::same and padding::valid.
struct conv2d_transpose_arguments : conv2d_arguments {
  using conv2d_arguments::take;
  constexpr bool take(padding) { return false; }
};

constexpr value lower_conv2d_transpose(builder& b, value in, int filters, conv2d_transpose_arguments o) {
  if ((o.given & window_arguments::stride_bit) == 0) o.stride = o.column_stride = 1;
  int const channels = in.shape.channels, groups = o.groups > 0 ? o.groups : 1;
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 2});
  b.require(filters > 0, {.broken = rule::filters_are_positive, .first = in.shape, .found = filters});
  b.require(o.height > 0 && o.width > 0,
            {.broken = rule::kernel_is_positive, .first = in.shape, .second = {1, o.height, o.width}});
  b.require(divides(o.groups, channels) && divides(o.groups, filters),
            {.broken = rule::groups_divide_the_channels, .first = in.shape, .wanted = o.groups, .found = filters});
  require_strides(b, in, o.stride, o.column_stride);
  require_dilation(b, in, o.dilated);
  require_filters_first(b, in, filters, o);
  window const w = o.dilated_window_at(o.zeros.top, o.zeros.left);
  require_pads(b, in, o.zeros, w.rows().span(), w.columns().span());
  auto const stretched = [](int size, window_side const& s, int behind) {
    return narrow((size - 1LL) * s.stride + s.span() - s.before - behind);
  };
  shape const out{filters, stretched(in.shape.height, w.rows(), o.zeros.bottom),
                  stretched(in.shape.width, w.columns(), o.zeros.right)};
  long long const area = narrow(1LL * o.height * o.width);
  b.parameter({.role = role::kernel,
               .dims = {channels, filters / groups, o.height, o.width},
               .fan_in = narrow(filters / groups * area),
               .fan_out = narrow(channels * area)});
  if (o.has_bias) b.parameter({.role = role::bias, .dims = {filters, 1, 1, 1}});
  return b.append({.kind = op::conv2d_transpose, .window = w, .groups = o.groups}, in, out);
}

}  // namespace detail

/// Transposed convolution: multiplies each input pixel by Filters kernels, places the products Stride pixels apart,
/// adds them where they overlap, and adds a bias. The output has (size - 1) Stride + kernel - padding rows. The numbers
/// after Filters are the kernel's height and width and the stride. The named options are kernel<H, W>, stride<H, W>,
/// pad<...>, dilation<H, W>, groups<G> and bias<false>. pad<...> removes rows and columns, like PyTorch's padding;
/// pad<1, 1, 0, 0> is its padding=1 with output_padding=1.
template <int Filters, auto... Options>
struct conv2d_transpose {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_conv2d_transpose(b, in, Filters,
                                          detail::read_arguments<detail::conv2d_transpose_arguments, Options...>());
  }
};
// conv2d_transpose<32, 2, stride<2>> on 64x8x8 -> 32x16x16

}  // namespace dsl
