// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/attention.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/merge_pixels.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Attention in windows of 7x7 pixels, which are shifted by half a window in every second block.
template <int Width, int Heads, int Shift>
struct swin_attention : sequential<named<"qkv", pointwise_dense<3 * Width>>,
                                   named<"relative_position_bias_table", window_attention<Heads, 7, Shift>>,
                                   named<"proj", pointwise_dense<Width>>> {};

/// Attention in windows, then two dense layers for each pixel, both with a shortcut.
template <int Width, int Heads, int Shift, number Rate>
struct swin_block
    : sequential<residual<named<"norm1", layer_norm<>>, named<"attn", swin_attention<Width, Heads, Shift>>,
                          stochastic_depth<Rate>>,
                 residual<named<"norm2", layer_norm<>>,
                          named<"mlp", pointwise_dense<4 * Width>, gelu, identity, pointwise_dense<Width>>,
                          stochastic_depth<Rate>>> {};

/// Halves height and width, and doubles the channels.
template <int Width>
struct swin_merging : sequential<merge_pixels<2>, named<"norm", layer_norm<>>,
                                 named<"reduction", pointwise_dense<Width, bias<false>>>> {};

/// Blocks First to First + Left - 1 of a network of All blocks. The rate of stochastic depth rises linearly from 0 in
/// the network's first block to Most in the network's last block.
template <int Width, int Heads, int First, int Left, int All, number Most, class... Blocks>
struct swin_stage
    : swin_stage<Width, Heads, First, Left - 1, All, Most,
                 swin_block<Width, Heads, 3 * (1 - Left % 2), Most*(First + Left - 1) / (All - 1)>, Blocks...> {};
template <int Width, int Heads, int First, int All, number Most, class... Blocks>
struct swin_stage<Width, Heads, First, 0, All, Most, Blocks...> : numbered<Blocks...> {};

/// Swin Transformer (Liu et al. 2021) with Third blocks in the third stage and 2 in each of the others, for images
/// whose height and width are multiples of 224.
template <int Classes, int Third, number Most, int Width, int Heads>
struct swin : sequential<named<"features",                                                             //
                               numbered<conv2d<Width, 4, stride<4>, pad<0>>, identity, layer_norm<>>,  // 56x56
                               swin_stage<Width, Heads, 0, 2, Third + 6, Most>,                        //
                               swin_merging<2 * Width>,                                                // 28x28
                               swin_stage<2 * Width, 2 * Heads, 2, 2, Third + 6, Most>,                //
                               swin_merging<4 * Width>,                                                // 14x14
                               swin_stage<4 * Width, 4 * Heads, 4, Third, Third + 6, Most>,            //
                               swin_merging<8 * Width>,                                                // 7x7
                               swin_stage<8 * Width, 8 * Heads, Third + 4, 2, Third + 6, Most>>,       //
                         named<"norm", layer_norm<>>, classifier<"head", Classes>> {};

/// The Swin Transformers of torchvision: tiny, small and base.
template <int Classes = 1000>
struct swin_t : swin<Classes, 6, 0.2, 96, 3> {};
template <int Classes = 1000>
struct swin_s : swin<Classes, 18, 0.3, 96, 3> {};
template <int Classes = 1000>
struct swin_b : swin<Classes, 18, 0.5, 128, 4> {};

}  // namespace dsl::models
