// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/attention.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// The batch_norm of MaxViT.
using maxvit_norm = batch_norm<0.99, 1e-3>;

/// A 1x1 convolution to four times the channels, a depthwise one, squeeze-and-excitation, and a 1x1 one back, with a
/// shortcut.
template <int Filters, int Stride, number Rate>
struct maxvit_convolutions
    : sequential<named<"layers", named<"pre_norm", maxvit_norm>,
                       named<"conv_a", conv2d<4 * Filters, 1, bias<false>>, maxvit_norm, gelu>,
                       named<"conv_b", conv2d<4 * Filters, 3, stride<Stride>, pad<1>, groups<4 * Filters>, bias<false>>,
                             maxvit_norm, gelu>,
                       named<"squeeze_excitation", squeeze_excitation<4 * Filters, Filters / 4, silu, sigmoid>>,
                       named<"conv_c", conv2d<Filters, 1>>>,
                 stochastic_depth<Rate>> {};

/// These convolutions with their shortcut, which has a pool and a convolution where they halve the image.
template <int Filters, int Stride, number Rate>
struct maxvit_mbconv : residual<maxvit_convolutions<Filters, Stride, Rate>> {};
template <int Filters, number Rate>
struct maxvit_mbconv<Filters, 2, Rate>
    : add<named<"proj", avg_pool2d<3, stride<2>, pad<1>>, conv2d<Filters, 1>>, maxvit_convolutions<Filters, 2, Rate>> {
};

/// Attention with heads of 32 channels, whose scores are divided by the square root of all channels.
template <int Width, class Attention>
struct maxvit_attention
    : sequential<named<"to_qkv", pointwise_dense<3 * Width>>, named<"relative_position_bias_table", Attention>,
                 named<"merge", pointwise_dense<Width>>> {};

/// Attention, then two dense layers for each pixel, both with a shortcut.
template <int Width, class Attention, number Rate>
struct maxvit_partition
    : sequential<
          residual<named<"attn_layer", layer_norm<>, maxvit_attention<Width, Attention>>, stochastic_depth<Rate>>,
          residual<named<"mlp_layer", layer_norm<>, pointwise_dense<4 * Width>, gelu, pointwise_dense<Width>>,
                   stochastic_depth<Rate>>> {};

/// Convolutions, attention in windows of 7x7 pixels, and attention between 7x7 pixels of the whole image.
template <int Width, int Stride, number Rate>
struct maxvit_layer
    : sequential<
          named<"layers", named<"MBconv", maxvit_mbconv<Width, Stride, Rate>>,
                named<"window_attention", maxvit_partition<Width, window_attention<Width / 32, 7, 0, Width>, Rate>>,
                named<"grid_attention", maxvit_partition<Width, grid_attention<Width / 32, 7, Width>, Rate>>>> {};

/// Layers First to First + Left - 1 of a network of All layers; the first halves the image. The rate of stochastic
/// depth rises linearly from 0 in the network's first layer to Most in the network's last layer.
template <int Width, int First, int Left, int All, number Most, class... Layers>
struct maxvit_block
    : maxvit_block<Width, First, Left - 1, All, Most,
                   maxvit_layer<Width, 2 - (Left > 1), Most*(First + Left - 1) / (All - 1)>, Layers...> {};
template <int Width, int First, int All, number Most, class... Layers>
struct maxvit_block<Width, First, 0, All, Most, Layers...> : sequential<named<"layers", Layers...>> {};

/// MaxViT (Tu et al. 2022), for images whose height and width are multiples of 224. The four blocks have First, Second,
/// Third and Fourth layers, each two or more; the first block has Width channels, and each other block twice as many as
/// the one before.
template <int Classes, int Width, int First, int Second, int Third, int Fourth, number Most,
          int All = First + Second + Third + Fourth>
struct maxvit
    : sequential<named<"stem", numbered<conv2d<Width, 3, stride<2>, pad<1>, bias<false>>, maxvit_norm, gelu>,
                       numbered<conv2d<Width, 3, pad<1>>>>,                                                  // 112x112
                 named<"blocks", maxvit_block<Width, 0, First, All, Most>,                                   // 56x56
                       maxvit_block<2 * Width, First, Second, All, Most>,                                    // 28x28
                       maxvit_block<4 * Width, First + Second, Third, All, Most>,                            // 14x14
                       maxvit_block<8 * Width, All - Fourth, Fourth, All, Most>>,                            // 7x7
                 named<"classifier", global_avg_pool2d, flatten, layer_norm<>, dense<8 * Width>, dsl::tanh,  //
                       pointwise_dense<Classes, bias<false>>>,                                               //
                 softmax> {};

/// The MaxViT of torchvision, tiny.
template <int Classes = 1000>
struct maxvit_t : maxvit<Classes, 64, 2, 2, 5, 2, 0.2> {};

}  // namespace dsl::models
