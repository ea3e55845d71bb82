// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/attention.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/tokens.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// The layer_norm of vision transformers, with the epsilon that they have in torchvision.
using vit_norm = layer_norm<1e-6>;

/// Multi-head self-attention between the pixels of its input, with the weights of an nn.MultiheadAttention.
template <int Width, int Heads>
struct self_attention : sequential<named<"in_proj_", pointwise_dense<3 * Width>>, attention<Heads>,
                                   named<"out_proj", pointwise_dense<Width>>> {};

/// Attention between the tokens, then two dense layers for each token, both with a shortcut.
template <int Width, int Heads>
struct vit_block
    : sequential<residual<named<"ln_1", vit_norm>, named<"self_attention", self_attention<Width, Heads>>>,
                 residual<named<"ln_2", vit_norm>,
                          named<"mlp", pointwise_dense<4 * Width>, gelu, identity, pointwise_dense<Width>>>> {};

/// Blocks encoder_layer_0 to encoder_layer_(Left - 1), and more.
template <int Left, class Block, class... Blocks>
struct vit_blocks : vit_blocks<Left - 1, Block, named<numbered_label<"encoder_layer_", Left - 1>, Block>, Blocks...> {};
template <class Block, class... Blocks>
struct vit_blocks<0, Block, Blocks...> : sequential<Blocks...> {};

/// Vision transformer (Dosovitskiy et al. 2021) with Depth blocks, on patches of Patch x Patch pixels. Images may have
/// any size, but weights only load for the size that they were trained with, because of pos_embedding.
template <int Classes, int Patch, int Depth, int Width, int Heads>
struct vit : sequential<named<"conv_proj", conv2d<Width, Patch, stride<Patch>, pad<0>>>,  // 14x14, 7x7 or 16x16
                        named<"class_token", class_token>,                                // and one more, in one row
                        named<"encoder", named<"pos_embedding", position_embedding>,
                              named<"layers", vit_blocks<Depth, vit_block<Width, Heads>>>, named<"ln", vit_norm>>,
                        token_slice<0>, named<"heads", named<"head", dense<Classes>>>, softmax> {};

/// The vision transformers of torchvision: base, large and huge, with the side of their patches.
template <int Classes = 1000>
struct vit_b_16 : vit<Classes, 16, 12, 768, 12> {};
template <int Classes = 1000>
struct vit_b_32 : vit<Classes, 32, 12, 768, 12> {};
template <int Classes = 1000>
struct vit_l_16 : vit<Classes, 16, 24, 1024, 16> {};
template <int Classes = 1000>
struct vit_l_32 : vit<Classes, 32, 24, 1024, 16> {};
template <int Classes = 1000>
struct vit_h_14 : vit<Classes, 14, 32, 1280, 16> {};

}  // namespace dsl::models
