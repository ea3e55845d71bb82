// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/tokens.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Two dense layers with a GELU between them, with the names that they have in timm.
template <int Hidden, int Out>
struct mixer_mlp : sequential<named<"fc1", pointwise_dense<Hidden>>, gelu, named<"fc2", pointwise_dense<Out>>> {};

/// Dense layers that mix the tokens of each channel, then dense layers that mix the channels of each token, both with a
/// shortcut.
template <int Tokens, int Width>
struct mixer_block
    : sequential<residual<named<"norm1", layer_norm<1e-6>>, transpose_tokens,
                          named<"mlp_tokens", mixer_mlp<Width / 2, Tokens>>, transpose_tokens>,
                 residual<named<"norm2", layer_norm<1e-6>>, named<"mlp_channels", mixer_mlp<4 * Width, Width>>>> {};

/// MLP-Mixer (Tolstikhin et al. 2021) with Depth blocks, on patches of Patch x Patch pixels of images of Size x Size,
/// whose sides must be multiples of Patch. The weights have the names that they have in timm.
template <int Classes, int Patch, int Depth, int Width, int Size = 224>
struct mlp_mixer : sequential<named<"stem", named<"proj", conv2d<Width, Patch, stride<Patch>, pad<0>>>>,
                              token_slice<0, (Size / Patch) * (Size / Patch)>,  // all tokens in one row
                              named<"blocks", repeat<Depth, mixer_block<(Size / Patch) * (Size / Patch), Width>>>,
                              named<"norm", layer_norm<1e-6>>, classifier<"head", Classes>> {};

/// The published mixers: small, base and large, with the side of their patches. Their images have 224 x 224 pixels.
template <int Classes = 1000>
struct mixer_s32 : mlp_mixer<Classes, 32, 8, 512> {};
template <int Classes = 1000>
struct mixer_s16 : mlp_mixer<Classes, 16, 8, 512> {};
template <int Classes = 1000>
struct mixer_b32 : mlp_mixer<Classes, 32, 12, 768> {};
template <int Classes = 1000>
struct mixer_b16 : mlp_mixer<Classes, 16, 12, 768> {};
template <int Classes = 1000>
struct mixer_l32 : mlp_mixer<Classes, 32, 24, 1024> {};
template <int Classes = 1000>
struct mixer_l16 : mlp_mixer<Classes, 16, 24, 1024> {};

}  // namespace dsl::models
