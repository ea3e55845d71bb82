// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv2d.hpp>

namespace dsl {

namespace option {
/// The option causal.
struct causal {};
}  // namespace option

/// The padding of a conv1d whose output reads only its own place of the sequence and earlier ones, like Keras's
/// padding="causal": all zeros come before the sequence.
inline constexpr option::causal causal{};

namespace detail {

/// The arguments of a window over a sequence. Options whose numbers are for rows and columns must have one number.
struct sequence_arguments : window_arguments {
  using window_arguments::take;
  constexpr bool take(option::kernel k) {
    width = k.width;
    return k.height == k.width && once(kernel_bit);
  }
  constexpr bool take(option::stride s) {
    stride = column_stride = s.columns;
    return s.rows == s.columns && once(stride_bit);
  }
  /// Accepts pad<N>, and pad<0, Before, 0, Behind>, which pads no rows.
  constexpr bool take(option::pad p) {
    zeros = {0, p.left, 0, p.right}, has_zeros = true;
    bool const one = p.top == p.left && p.bottom == p.left && p.right == p.left;
    return (one || (p.top == 0 && p.bottom == 0)) && once(pad_bit);
  }
  template <class T>
  constexpr bool take(T n) {
    if constexpr (whole_number<T>) {
      if (numbers == 0) return number(kernel_bit, width, n);
      return numbers == 1 && stride_number(n);
    } else {
      return false;
    }
  }
};

/// The arguments of conv1d after Filters: length, stride and padding, as numbers or by name, and further options.
struct conv1d_arguments : sequence_arguments {
  enum : unsigned { groups_bit = first_free_bit, bias_bit = 2 * first_free_bit, dilation_bit = 4 * first_free_bit };
  int groups = 1;
  int dilated = 1;
  bool has_bias = true;
  bool is_causal = false;

  using sequence_arguments::take;
  constexpr bool take(padding p) {
    bool const first = (given & pad_bit) == 0;
    given |= pad_bit;
    pads = p;
    return first;
  }
  constexpr bool take(option::causal) { return is_causal = once(pad_bit); }
  constexpr bool take(option::groups g) {
    groups = g.count;
    return once(groups_bit);
  }
  constexpr bool take(option::bias added) {
    has_bias = added.is_added;
    return once(bias_bit);
  }
  constexpr bool take(option::dilation d) {
    dilated = d.columns;
    return d.rows == d.columns && once(dilation_bit);
  }
};

/// Requires that a layer's input is a sequence: one row.
constexpr void require_sequence(builder& b, value const& in) {
  b.require(in.shape.height == 1, {.broken = rule::sequences_have_one_row, .first = in.shape});
}

/// Requires that a window of `length` places, which covers `span` positions once dilated, fits into `padded` positions.
constexpr void require_length(builder& b, value const& in, int length, int span, int padded) {
  b.require(length > 0, {.broken = rule::window_has_a_length, .first = in.shape, .found = length});
  b.require(span <= padded,
            {.broken = rule::window_fits_the_sequence, .first = in.shape, .wanted = padded, .found = span});
}

constexpr value lower_conv1d(builder& b, value in, int filters, conv1d_arguments o) {
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 2});
  require_sequence(b, in);
  int const length = in.shape.width;
  if ((o.given & window_arguments::stride_bit) == 0) o.stride = o.column_stride = 1;
  window w{1, o.width, o.stride, 0, 0, 0, 1, o.dilated};
  int const span = w.columns().span();
  if (o.is_causal) o.zeros = {0, span - 1, 0, 0}, o.has_zeros = true;
  extent const e = o.has_zeros ? extent_of(length, span, o.stride, o.zeros.left, o.zeros.right)
                               : extent_of(length, span, o.stride, o.pads);
  require_strides(b, in, o.stride, o.stride);
  require_dilation(b, in, {1, o.dilated});
  require_length(b, in, o.width, span, e.padded);
  bool const is_stated = o.has_zeros || o.pads == padding::valid;
  b.require_unless_intended(
      span < 2LL * length || (is_stated && length > 1),
      {.broken = rule::kernel_meets_its_sequence, .first = in.shape, .wanted = length, .found = span});
  // conv1d<3, 64, 5> in PyTorch's order would have 3 filters of length 64 and stride 5
  bool const is_long = o.numbers == 2 && o.stride > 1 && o.width >= 16 && o.width > 4LL * o.stride;
  b.require_unless_intended(filters != in.shape.channels || !is_long,
                            {.broken = rule::filters_come_first, .first = in.shape, .second = {filters, 1, o.width}});
  conv2d_arguments all;
  all.height = 1, all.width = o.width, all.stride = all.column_stride = o.stride;
  all.zeros = o.zeros, all.has_zeros = o.has_zeros, all.pads = o.pads;
  all.groups = o.groups, all.has_bias = o.has_bias, all.dilated = {1, o.dilated};
  all.given = window_arguments::stride_bit, all.kernel_rank = 3;
  return lower_conv2d(b, in, filters, all);
}

}  // namespace detail

/// Convolution along a sequence, like PyTorch's Conv1d: cross-correlation with Filters kernels over all channels, plus
/// a bias. The numbers after Filters are the kernel's length and the stride, followed by the padding: conv1d<64, 3>,
/// conv1d<64, 3, 2, padding::valid>. Instead, or after the first numbers, options can be named: kernel<N>, stride<N>,
/// pad<N>, a padding or causal, dilation<N>, groups<N>, bias<false>. Kernels are (out, in, length) in files.
template <int Filters, auto... Options>
struct conv1d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_conv1d(b, in, Filters, detail::read_arguments<detail::conv1d_arguments, Options...>());
  }
};
// conv1d<64, 3> on 3x1x100 -> 64x1x100;  conv1d<64, 5, 2, padding::valid> on 3x1x100 -> 64x1x48
// conv1d<64, 2, causal, dilation<8>> on 3x1x100 -> 64x1x100, of which number i reads numbers i - 8 and i

}  // namespace dsl
