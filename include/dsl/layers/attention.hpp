// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

namespace detail {
constexpr value attend(builder& b, value in, op kind, int heads) {
  b.require(has_whole_heads(in.shape.channels, heads),
            {.broken = rule::attention_has_whole_heads, .first = in.shape, .wanted = heads});
  int const width = in.shape.channels / 3;
  return b.append({.kind = kind, .groups = heads}, in, {width > 0 ? width : 1, in.shape.height, in.shape.width});
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

}  // namespace dsl
