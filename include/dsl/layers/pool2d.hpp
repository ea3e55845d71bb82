// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/window.hpp>

namespace dsl {

namespace option {
/// The options ceil_mode and count_padding<false>.
struct ceil_mode {};
struct count_padding {
  bool counts;
};
}  // namespace option

/// Lets the last window of a pool begin inside the image and end beyond its padding, like PyTorch's ceil_mode.
inline constexpr option::ceil_mode ceil_mode{};
/// Whether an avg_pool2d counts padding. With count_padding<false>, it averages only over pixels of the image.
template <bool Counts>
inline constexpr option::count_padding count_padding{Counts};

namespace detail {

/// The arguments of a pool: its size and its stride, as numbers or by name.
struct pool2d_arguments : window_arguments {
  enum : unsigned { ceil_bit = first_free_bit, count_bit = 2 * first_free_bit };
  bool rounds_up = false;
  bool counts_padding = true;

  using window_arguments::take;
  template <class T>
  constexpr bool take(T n) {
    if constexpr (whole_number<T>) {
      if (numbers == 0) return number(kernel_bit, height, n) && (width = height, true);
      return numbers == 1 && stride_number(n);
    } else {
      return false;
    }
  }
  constexpr bool take(option::ceil_mode) { return rounds_up = once(ceil_bit); }
};
struct avg_pool2d_arguments : pool2d_arguments {
  using pool2d_arguments::take;
  constexpr bool take(option::count_padding c) {
    counts_padding = c.counts;
    return once(count_bit);
  }
  /// Accepts ceil_mode only after count_padding<false>. Pixels beyond the padding could be counted or not, and
  /// libraries differ in this.
  constexpr bool take(option::ceil_mode) { return !counts_padding && (rounds_up = once(ceil_bit)); }
};

/// Returns the number of a pool's output rows or columns, and its padding. With rounds_up, which stands for ceil_mode,
/// there is one more window if that window begins inside the image or in the padding before it.
constexpr extent pool_extent(int input, int size, int stride, int before, int behind, bool rounds_up) {
  extent e = extent_of(input, size, stride, before, behind);
  if (rounds_up && stride > 0 && e.padded >= size) {
    bool const rest = (e.padded - size) % stride != 0;
    if (rest && 1LL * e.size * stride < 1LL * input + before) ++e.size;
  }
  return e;
}

constexpr value lower_pool2d(builder& b, value in, op kind, pool2d_arguments o) {
  if ((o.given & window_arguments::stride_bit) == 0) o.stride = o.height, o.column_stride = o.width;
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 1});
  b.require(o.height > 0 && o.width > 0,
            {.broken = rule::pool_window_is_positive, .first = in.shape, .second = {1, o.height, o.width}});
  require_strides(b, in, o.stride, o.column_stride);
  require_pads(b, in, o.zeros, o.height, o.width);
  option::pad const& p = o.zeros;
  extent const h = pool_extent(in.shape.height, o.height, o.stride, p.top, p.bottom, o.rounds_up);
  extent const w = pool_extent(in.shape.width, o.width, o.column_stride, p.left, p.right, o.rounds_up);
  b.require(o.height <= h.padded && o.width <= w.padded, {.broken = rule::pool_window_fits_input,
                                                          .first = {in.shape.channels, h.padded, w.padded},
                                                          .second = {1, o.height, o.width}});
  // max_pool2d stores the position of the maximum in the window, in at most two bytes.
  b.require(kind != op::max_pool2d || 1LL * o.height * o.width <= 65'536,
            {.broken = rule::pool_window_fits_16_bits, .first = in.shape, .found = 1LL * o.height * o.width});
  return b.append({.kind = kind, .window = o.window_at(h.before, w.before), .counts_padding = o.counts_padding}, in,
                  {in.shape.channels, h.size, w.size});
}

}  // namespace detail

/// Computes the largest value of each window. Padding is never the maximum. If several values are the largest, the
/// first of them gets the gradient. The numbers are the window's size and the stride, as in max_pool2d<3, 2>; without a
/// stride, the stride is the size. Named options are kernel<H, W>, stride<S> or stride<H, W>, pad<...> and ceil_mode.
template <auto... Options>
struct max_pool2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool2d(b, in, op::max_pool2d, detail::read_arguments<detail::pool2d_arguments, Options...>());
  }
};
// max_pool2d<3, 2> on 80x32x32 -> 80x15x15;  max_pool2d<3, 2, pad<1>> on 64x112x112 -> 64x56x56

/// Computes the mean of each window. It has the options of max_pool2d, and count_padding<false>. Without
/// count_padding<false>, the zeros of the padding count, as in PyTorch. ceil_mode must come after count_padding<false>.
template <auto... Options>
struct avg_pool2d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool2d(b, in, op::avg_pool2d,
                                detail::read_arguments<detail::avg_pool2d_arguments, Options...>());
  }
};
// avg_pool2d<7> on 336x7x7 -> 336x1x1

/// Computes the mean of each channel over all pixels.
struct global_avg_pool2d {
  static constexpr value lower(builder& b, value in) {
    detail::pool2d_arguments all;
    all.height = in.shape.height, all.width = in.shape.width, all.stride = all.column_stride = 1;
    all.given = detail::window_arguments::stride_bit;
    return detail::lower_pool2d(b, in, op::avg_pool2d, all);
  }
};
// global_avg_pool2d on 336x7x7 -> 336x1x1

}  // namespace dsl
