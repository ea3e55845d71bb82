// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/initializer.hpp>
#include <dsl/layer.hpp>

namespace dsl {

namespace detail {
constexpr value attend(builder& b, value in, op kind, int heads) {
  b.require(has_whole_heads(in.shape.channels, heads),
            {.broken = rule::attention_has_whole_heads, .first = in.shape, .wanted = heads});
  int const width = in.shape.channels / 3;
  return b.append({.kind = kind, .groups = heads}, in, {width > 0 ? width : 1, in.shape.height, in.shape.width});
}

/// Lowers attention in windows. Scores are divided by the square root of `divisor`, or of the width of a head if it is
/// 0. The biases are learnt, and initialised like those of position_embedding.
constexpr value attend_in(window const& w, builder& b, value in, int heads, int divisor) {
  b.require(windows_fill(w, in.shape),
            {.broken = rule::windows_fill_the_image, .first = in.shape, .wanted = w.height, .found = w.pad_top});
  bool const whole = b.require(has_whole_heads(in.shape.channels, heads),
                               {.broken = rule::attention_has_whole_heads, .first = in.shape, .wanted = heads});
  int const channels = whole ? in.shape.channels / 3 : 1, offsets = offsets_in(w);
  initializer const outside = b.initialize_with({distribution::truncated_normal, 0.02});
  b.parameter({.role = role::kernel, .dims = {offsets, heads, 1, 1}, .rank = 2, .fan_in = offsets, .fan_out = heads});
  b.initialize_with(outside);
  double const divided_by = divisor > 0 ? divisor : whole ? channels / heads : 1;
  return b.append({.kind = op::window_attention, .window = w, .rate = divided_by, .groups = heads}, in,
                  {channels, in.shape.height, in.shape.width});
}
}  // namespace detail

/// Scaled dot-product attention with Heads heads (Vaswani et al. 2017). The pixels of its input are the tokens. The
/// channels of its input are the queries, then the keys, then the values, for example from conv2d<3 * Width, 1>; this
/// is the order of PyTorch's in_proj_weight. No step stores a number for each pair of tokens.
template <int Heads>
struct attention {
  static constexpr value lower(builder& b, value in) { return detail::attend(b, in, op::attention, Heads); }
};
// attention<12> on 2304x14x14 -> 768x14x14, between 196 tokens

/// Attention in which a token sees only itself and the tokens before it, as in language models. The tokens are the
/// pixels in row order.
template <int Heads>
struct causal_attention {
  static constexpr value lower(builder& b, value in) { return detail::attend(b, in, op::causal_attention, Heads); }
};

/// Attention between the pixels of each window of Window x Window pixels (Liu et al. 2021), with the input of
/// attention. Each head adds a learnt bias for the offset between two pixels to their score. With a Shift, the windows
/// begin Shift rows and columns later, and those at the end of the image are divided there; along a side with a single
/// window there is no shift. Scores are divided by the square root of Divisor, by default of the width of a head. The
/// biases are a table (offsets, Heads). In PyTorch's files, it has the name that named<> gives to this layer.
template <int Heads, int Window, int Shift = 0, int Divisor = 0>
struct window_attention {
  static constexpr value lower(builder& b, value in) {
    window const w{.height = Window,
                   .width = Window,
                   .pad_top = in.shape.height == Window && Shift < Window ? 0 : Shift,
                   .pad_left = in.shape.width == Window && Shift < Window ? 0 : Shift};
    return detail::attend_in(w, b, in, Heads, Divisor);
  }
};
// window_attention<3, 7> on 288x56x56 -> 96x56x56, in 64 windows of 49 tokens, with 169 * 3 numbers

/// Attention as in window_attention, between Side x Side pixels that are spread evenly over the image, so that the
/// image is divided into as many such grids as it has windows (Tu et al. 2022).
template <int Heads, int Side, int Divisor = 0>
struct grid_attention {
  static constexpr value lower(builder& b, value in) {
    bool const divides = Side > 0 && in.shape.height >= Side && in.shape.width >= Side;
    window const w{.height = Side,
                   .width = Side,
                   .row_dilation = divides ? in.shape.height / Side : 1,
                   .column_dilation = divides ? in.shape.width / Side : 1};
    return detail::attend_in(w, b, in, Heads, Divisor);
  }
};
// grid_attention<3, 7> on 288x56x56 -> 96x56x56, each token in every 8th row and column

/// Divides each query and each key of attention's input by its length, so that scores are cosines, and multiplies the
/// queries of each head by e^s, at most 100 (Liu et al. 2022). The number s of a head is learnt, and initialised
/// with 1. In PyTorch's files, these numbers have the name that named<> gives to this layer.
template <int Heads>
struct head_norm {
  static constexpr value lower(builder& b, value in) {
    b.require(has_whole_heads(in.shape.channels, Heads),
              {.broken = rule::attention_has_whole_heads, .first = in.shape, .wanted = Heads});
    b.parameter({.role = role::gamma, .dims = {Heads, 1, 1, 1}, .rank = 3});
    return b.append({.kind = op::head_norm, .groups = Heads}, in, in.shape);
  }
};
// head_norm<3> on 288x64x64 -> 288x64x64, with 3 numbers

}  // namespace dsl
