// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv1d.hpp>
#include <dsl/layers/pool2d.hpp>

namespace dsl {

namespace detail {

/// The arguments of a pool over a sequence: its length and its stride, as numbers or by name.
struct pool1d_arguments : sequence_arguments {
  enum : unsigned { ceil_bit = first_free_bit, count_bit = 2 * first_free_bit };
  bool rounds_up = false;
  bool counts_padding = true;

  using sequence_arguments::take;
  constexpr bool take(option::ceil_mode) { return rounds_up = once(ceil_bit); }
};
struct avg_pool1d_arguments : pool1d_arguments {
  using pool1d_arguments::take;
  constexpr bool take(option::count_padding c) {
    counts_padding = c.counts;
    return once(count_bit);
  }
  /// Accepts ceil_mode only after count_padding<false>, as in avg_pool2d.
  constexpr bool take(option::ceil_mode) { return !counts_padding && (rounds_up = once(ceil_bit)); }
};

constexpr value lower_pool1d(builder& b, value in, op kind, pool1d_arguments const& o) {
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 1});
  require_sequence(b, in);
  pool2d_arguments all;
  all.height = 1, all.width = o.width;
  all.stride = all.column_stride = (o.given & window_arguments::stride_bit) == 0 ? o.width : o.stride;
  all.given = window_arguments::stride_bit;
  all.zeros = o.zeros, all.rounds_up = o.rounds_up, all.counts_padding = o.counts_padding;
  int const padded = extent_of(in.shape.width, o.width, 1, o.zeros.left, o.zeros.right).padded;
  require_length(b, in, o.width, o.width, padded);
  return lower_pool2d(b, in, kind, all);
}

}  // namespace detail

/// Computes the largest value of each window along a sequence, like PyTorch's MaxPool1d. Padding is never the maximum.
/// The numbers are the window's length and the stride, as in max_pool1d<3, 2>; without a stride, the stride is the
/// length. Named options are kernel<N>, stride<N>, pad<N> and ceil_mode.
template <auto... Options>
struct max_pool1d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool1d(b, in, op::max_pool2d, detail::read_arguments<detail::pool1d_arguments, Options...>());
  }
};
// max_pool1d<3, 2> on 16x1x100 -> 16x1x49

/// Computes the mean of each window along a sequence. It has the options of max_pool1d, and count_padding<false>.
/// Without count_padding<false>, the zeros of the padding count. ceil_mode must come after count_padding<false>.
template <auto... Options>
struct avg_pool1d {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pool1d(b, in, op::avg_pool2d,
                                detail::read_arguments<detail::avg_pool1d_arguments, Options...>());
  }
};
// avg_pool1d<4> on 16x1x100 -> 16x1x25

/// Computes the mean of each channel over the whole sequence.
struct global_avg_pool1d {
  static constexpr value lower(builder& b, value in) {
    detail::pool1d_arguments all;
    all.width = in.shape.width;
    return detail::lower_pool1d(b, in, op::avg_pool2d, all);
  }
};
// global_avg_pool1d on 16x1x100 -> 16x1x1

}  // namespace dsl
