// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/attention.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/tokens.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Causal multi-head self-attention: each token reads only itself and the tokens before it.
template <int Width, int Heads>
struct gpt_attention : sequential<named<"c_attn", pointwise_dense<3 * Width>>, causal_attention<Heads>,
                                  named<"c_proj", pointwise_dense<Width>>> {};

/// Attention, then two dense layers for each token. The result of each of the two parts is added to its input.
template <int Width, int Heads>
struct gpt_block
    : sequential<residual<named<"ln_1", layer_norm<>>, named<"attn", gpt_attention<Width, Heads>>>,
                 residual<named<"ln_2", layer_norm<>>, named<"mlp", named<"c_fc", pointwise_dense<4 * Width>>, gelu,
                                                             named<"c_proj", pointwise_dense<Width>>>>> {};

/// Decoder-only transformer, as GPT-2 (Radford et al. 2019). For each token of the input it gives the probabilities of
/// the next token. The network's input has the length. Weights have GPT-2's names, but the last layer has weights of
/// its own, which GPT-2 shares with the embedding:
///   network<token_numbers<64>, models::gpt<96, 4, 128, 4>>
template <int Vocabulary, int Depth, int Width, int Heads>
struct gpt : sequential<named<"wte", embedding<Vocabulary, Width>>, named<"wpe", position_embedding>,
                        named<"h", repeat<Depth, gpt_block<Width, Heads>>>, named<"ln_f", layer_norm<>>,
                        named<"lm_head", pointwise_dense<Vocabulary>>, softmax2d> {};
// gpt<96, 4, 128, 4> on 1x1x64 -> 96x1x64

}  // namespace dsl::models
