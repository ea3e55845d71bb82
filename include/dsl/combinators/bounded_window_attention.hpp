// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

/// Computes attention in windows, as window_attention does, with biases that layers compute from the offsets between
/// two pixels (Liu et al. 2022). The layers Biases read two numbers for each offset, its rows and columns on a
/// logarithmic scale from -1 to 1, and give a number z for each head; the bias is 16 / (1 + e^-z). Scores are not
/// divided: head_norm before this layer bounds them.
template <int Heads, int Window, int Shift, class... Biases>
struct bounded_window_attention {
  using children = typename sequential<Biases...>::children;

  static constexpr value lower(builder& b, value in) {
    window const w{.height = Window,
                   .width = Window,
                   .pad_top = in.shape.height == Window && Shift < Window ? 0 : Shift,
                   .pad_left = in.shape.width == Window && Shift < Window ? 0 : Shift};
    bool const fits =
        b.require(windows_fill(w, in.shape),
                  {.broken = rule::windows_fill_the_image, .first = in.shape, .wanted = w.height, .found = w.pad_top});
    bool const whole = b.require(has_whole_heads(in.shape.channels, Heads),
                                 {.broken = rule::attention_has_whole_heads, .first = in.shape, .wanted = Heads});
    int const side = fits ? 2 * Window - 1 : 1;
    value const offsets = b.append({.kind = op::window_offsets}, in, {2, side, side});
    value const operands[]{in, sequential<Biases...>::lower(b, offsets)};
    return b.append({.kind = op::bounded_window_attention, .window = w, .groups = Heads}, operands, 2,
                    {whole ? in.shape.channels / 3 : 1, in.shape.height, in.shape.width});
  }
};
// bounded_window_attention<3, 8, 0, pointwise_dense<512>, relu, pointwise_dense<3>> on 288x64x64 -> 96x64x64

}  // namespace dsl
