// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/window.hpp>

namespace dsl {

namespace option {
/// The options groups<N> and bias<false>.
struct groups {
  int count;
};
struct bias {
  bool is_added;
};
struct dilation {
  int rows, columns;
};
}  // namespace option

/// The number of groups, as in conv2d<64, kernel<3>, groups<32>>; see conv2d.
template <int Count>
inline constexpr option::groups groups{Count};
/// Whether a conv2d has a bias: conv2d<64, 3, bias<false>>.
template <bool IsAdded>
inline constexpr option::bias bias{IsAdded};
/// The distance in pixels between the elements of the kernel: conv2d<64, 3, dilation<2>> reads every second row and
/// column of 5x5 pixels. dilation<2, 1> dilates only the rows.
template <int Rows, int Columns = Rows>
inline constexpr option::dilation dilation{Rows, Columns};

namespace detail {

/// The arguments of conv2d after Filters: height, width, stride, padding and groups, as numbers or by name.
struct conv2d_arguments : window_arguments {
  enum : unsigned { groups_bit = first_free_bit, bias_bit = 2 * first_free_bit, dilation_bit = 4 * first_free_bit };
  int groups = 1;
  bool has_bias = true;
  option::dilation dilated{1, 1};
  int kernel_rank = 0;  // in files; 0: 4

  using window_arguments::take;
  template <class T>
  constexpr bool take(T n) {
    if constexpr (whole_number<T>) {
      if (numbers == 0) return number(kernel_bit, height, n) && (width = height, true);
      if (numbers == 1) return number(kernel_bit, width, n);
      if (numbers == 2) return stride_number(n);
      return numbers == 3 && (given & pad_bit) != 0 && number(groups_bit, groups, n);
    } else {
      return false;
    }
  }
  constexpr bool take(padding p) {
    bool const first = (given & pad_bit) == 0;
    given |= pad_bit;
    pads = p;
    return first;
  }
  constexpr bool take(option::groups g) {
    groups = g.count;
    return once(groups_bit);
  }
  constexpr bool take(option::bias added) {
    has_bias = added.is_added;
    return once(bias_bit);
  }
  constexpr bool take(option::dilation d) {
    dilated = d;
    return once(dilation_bit);
  }
  constexpr window dilated_window_at(int top, int left) const {
    window w = window_at(top, left);
    w.row_dilation = dilated.rows, w.column_dilation = dilated.columns;
    return w;
  }
};

/// Requires that the dilation along rows and along columns is positive.
constexpr void require_dilation(builder& b, value const& in, option::dilation const& d) {
  b.require(d.rows > 0 && d.columns > 0,
            {.broken = rule::dilation_is_positive, .first = in.shape, .found = d.rows > 0 ? d.columns : d.rows});
}

/// Whether the size of a kernel with padding::same is plausible along one side. A square kernel, or one that is a line,
/// may be larger than its input if each of its elements can be on a pixel. Up to 3x3, it may have any input, as at the
/// end of deep networks. Other kernels must fit into the input: conv2d<3, 64, 3> probably should be conv2d<64, 3, 3>.
constexpr bool meets(int kernel, int input) { return kernel <= 3 || kernel < 2LL * input; }
constexpr bool meets(int height, int width, shape const& in) {
  bool const usual = height == width || height == 1 || width == 1 || (height <= 3 && width <= 3);
  return (height <= in.height && width <= in.width) || (usual && meets(height, in.height) && meets(width, in.width));
}

/// Whether the arguments of a convolution are not in PyTorch's order, which begins with the input's channels:
/// conv2d<3, 64, 3> of an image with 3 channels would have 3 filters of 64x3. Such kernels, much higher than wide, are
/// rare, and kernel<64, 3> names one without doubt.
constexpr bool filters_lead(int filters, int channels, conv2d_arguments const& o) {
  bool const is_high = o.height > 2LL * o.width || (channels <= 4 && o.height > o.width);
  return o.numbers < 2 || filters != channels || o.height <= 3 || !is_high || (o.width == 1 && o.height < 16);
}
constexpr void require_filters_first(builder& b, value const& in, int filters, conv2d_arguments const& o) {
  b.require_unless_intended(
      filters_lead(filters, in.shape.channels, o),
      {.broken = rule::filters_come_first, .first = in.shape, .second = {filters, o.height, o.width}});
}

constexpr value lower_conv2d(builder& b, value in, int filters, conv2d_arguments o) {
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 2});
  if ((o.given & window_arguments::stride_bit) == 0) o.stride = o.column_stride = 1;
  b.require(filters > 0, {.broken = rule::filters_are_positive, .first = in.shape, .found = filters});
  b.require(o.height > 0 && o.width > 0,
            {.broken = rule::kernel_is_positive, .first = in.shape, .second = {1, o.height, o.width}});
  b.require(o.groups == 1 || (divides(o.groups, in.shape.channels) && divides(o.groups, filters)),
            {.broken = rule::groups_divide_the_channels, .first = in.shape, .wanted = o.groups, .found = filters});
  require_strides(b, in, o.stride, o.column_stride);
  require_dilation(b, in, o.dilated);
  window const own = o.dilated_window_at(0, 0);
  int const rows = own.rows().span(), columns = own.columns().span();
  if (o.has_zeros) require_pads(b, in, o.zeros, rows, columns);
  extent const h = o.has_zeros ? extent_of(in.shape.height, rows, o.stride, o.zeros.top, o.zeros.bottom)
                               : extent_of(in.shape.height, rows, o.stride, o.pads);
  extent const w = o.has_zeros ? extent_of(in.shape.width, columns, o.column_stride, o.zeros.left, o.zeros.right)
                               : extent_of(in.shape.width, columns, o.column_stride, o.pads);
  b.require(rows <= h.padded && columns <= w.padded, {.broken = rule::kernel_fits_padded_input,
                                                      .first = {in.shape.channels, h.padded, w.padded},
                                                      .second = {filters, rows, columns}});
  long long const area = narrow(1LL * o.height * o.width);
  int const channels = in.shape.channels / (o.groups > 0 ? o.groups : 1);  // of one group
  b.parameter({.role = role::kernel,
               .dims = {filters, channels, o.height, o.width},
               .rank = o.kernel_rank,
               .fan_in = narrow(channels * area),
               .fan_out = narrow(filters * area)});
  if (o.has_bias) b.parameter({.role = role::bias, .dims = {filters, 1, 1, 1}});
  b.require_unless_intended(
      o.has_zeros || o.pads == padding::valid || meets(rows, columns, in.shape),
      {.broken = rule::kernel_meets_its_input, .first = in.shape, .second = {filters, rows, columns}});
  require_filters_first(b, in, filters, o);
  return b.append({.kind = op::conv2d, .window = o.dilated_window_at(h.before, w.before), .groups = o.groups}, in,
                  {filters, h.size, w.size});
}

}  // namespace detail

/// Cross-correlation with Filters kernels over all input channels, plus a bias. The numbers after Filters are the
/// kernel's height and width (equal if only one is given) and the stride, followed by padding and groups: conv2d<64,
/// 3>, conv2d<64, 3, 3, 2, padding::valid>. Instead, or after the first numbers, options can be named: kernel<H, W>,
/// stride<S> or stride<H, W>, pad<...> or padding, dilation<D> or dilation<H, W>, groups<G>, bias<false>. groups<G>
/// splits channels and filters into G equal parts, and each filter reads only the channels of its own part; with as
/// many groups as channels, this is a depthwise convolution. Kernels are initialised from Glorot's uniform
/// distribution, biases with 0.
template <int Filters, auto... Options>
struct conv2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_conv2d(b, in, Filters, detail::read_arguments<detail::conv2d_arguments, Options...>());
  }
};
// conv2d<64, 3, 3> on 3x8x8 -> 64x8x8;  conv2d<80, 3, 3, 2, padding::valid> on 80x32x32 -> 80x15x15
// conv2d<64, kernel<7>, stride<2>, pad<3>> on 3x224x224 -> 64x112x112
// conv2d<64, kernel<3>, groups<64>> on 64x8x8 -> 64x8x8, with 64 kernels of 3x3
// conv2d<64, 3, dilation<2>, padding::valid> on 3x8x8 -> 64x4x4;  conv2d<64, 3, stride<2, 1>> on 3x8x8 -> 64x4x8

}  // namespace dsl
