// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/bounded_window_attention.hpp>
#include <dsl/layers/attention.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/merge_pixels.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Cosine attention in windows of 8x8 pixels, which are shifted by half a window in every second block. torchvision
/// keeps the biases of the keys at 0; here they are trained like the other biases.
template <int Width, int Heads, int Shift>
struct swin_v2_attention
    : sequential<
          named<"qkv", pointwise_dense<3 * Width>>, named<"logit_scale", head_norm<Heads>>,
          bounded_window_attention<Heads, 8, Shift,
                                   named<"cpb_mlp", pointwise_dense<512>, relu, pointwise_dense<Heads, bias<false>>>>,
          named<"proj", pointwise_dense<Width>>> {};

/// Attention in windows, then two dense layers for each pixel, each followed by a norm and with a shortcut.
template <int Width, int Heads, int Shift, number Rate>
struct swin_v2_block
    : sequential<residual<named<"attn", swin_v2_attention<Width, Heads, Shift>>, named<"norm1", layer_norm<>>,
                          stochastic_depth<Rate>>,
                 residual<named<"mlp", pointwise_dense<4 * Width>, gelu, identity, pointwise_dense<Width>>,
                          named<"norm2", layer_norm<>>, stochastic_depth<Rate>>> {};

/// Halves height and width, and doubles the channels.
template <int Width>
struct swin_v2_merging : sequential<merge_pixels<2>, named<"reduction", pointwise_dense<Width, bias<false>>>,
                                    named<"norm", layer_norm<>>> {};

/// Blocks First to First + Left - 1 of a network of All blocks. The rate of stochastic depth rises linearly from 0 in
/// the network's first block to Most in the network's last block.
template <int Width, int Heads, int First, int Left, int All, number Most, class... Blocks>
struct swin_v2_stage
    : swin_v2_stage<Width, Heads, First, Left - 1, All, Most,
                    swin_v2_block<Width, Heads, 4 * (1 - Left % 2), Most*(First + Left - 1) / (All - 1)>, Blocks...> {};
template <int Width, int Heads, int First, int All, number Most, class... Blocks>
struct swin_v2_stage<Width, Heads, First, 0, All, Most, Blocks...> : numbered<Blocks...> {};

/// Swin Transformer V2 (Liu et al. 2022) with Third blocks in the third stage and 2 in each of the others, for images
/// whose height and width are multiples of 256.
template <int Classes, int Third, number Most, int Width, int Heads>
struct swin_v2 : sequential<named<"features",                                                             //
                                  numbered<conv2d<Width, 4, stride<4>, pad<0>>, identity, layer_norm<>>,  // 64x64
                                  swin_v2_stage<Width, Heads, 0, 2, Third + 6, Most>,                     //
                                  swin_v2_merging<2 * Width>,                                             // 32x32
                                  swin_v2_stage<2 * Width, 2 * Heads, 2, 2, Third + 6, Most>,             //
                                  swin_v2_merging<4 * Width>,                                             // 16x16
                                  swin_v2_stage<4 * Width, 4 * Heads, 4, Third, Third + 6, Most>,         //
                                  swin_v2_merging<8 * Width>,                                             // 8x8
                                  swin_v2_stage<8 * Width, 8 * Heads, Third + 4, 2, Third + 6, Most>>,    //
                            named<"norm", layer_norm<>>, classifier<"head", Classes>> {};

/// The Swin Transformers V2 of torchvision: tiny, small and base.
template <int Classes = 1000>
struct swin_v2_t : swin_v2<Classes, 6, 0.2, 96, 3> {};
template <int Classes = 1000>
struct swin_v2_s : swin_v2<Classes, 18, 0.3, 96, 3> {};
template <int Classes = 1000>
struct swin_v2_b : swin_v2<Classes, 18, 0.5, 128, 4> {};

}  // namespace dsl::models
