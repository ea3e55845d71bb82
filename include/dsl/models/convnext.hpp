// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/channel_scale.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// The layer_norm of ConvNeXt.
using convnext_norm = layer_norm<1e-6>;

/// A depthwise 7x7 convolution, and dense layers over the channels of each pixel to four times the channels and back.
/// The identities stand for torchvision's permutations of axes, which count in the names of weights. The scales are
/// initialised with 1, in torchvision with 1e-6: to train as torchvision does, load weights or set the scales.
template <int Filters, number Rate>
struct convnext_block : residual<named<"block", conv2d<Filters, 7, pad<3>, groups<Filters>>, identity, convnext_norm,
                                       pointwise_dense<4 * Filters>, gelu, pointwise_dense<Filters>, identity>,
                                 named<"layer_scale", channel_scale>, stochastic_depth<Rate>> {};

/// Blocks First to First + Left - 1 of a network of All blocks. The rate of stochastic depth rises linearly from 0 in
/// the network's first block to Most in the network's last block.
template <int Filters, int First, int Left, int All, number Most, class... Blocks>
struct convnext_stage : convnext_stage<Filters, First, Left - 1, All, Most,
                                       convnext_block<Filters, Most*(First + Left - 1) / (All - 1)>, Blocks...> {};
template <int Filters, int First, int All, number Most, class... Blocks>
struct convnext_stage<Filters, First, 0, All, Most, Blocks...> : numbered<Blocks...> {};

/// Halves height and width.
template <int Filters>
struct convnext_downsample : numbered<convnext_norm, conv2d<Filters, 2, stride<2>, pad<0>>> {};

/// ConvNeXt (Liu et al. 2022) with Third blocks in the third stage and 3 in each of the others.
template <int Classes, int Third, number Most, int A, int B, int C, int D>
struct convnext : sequential<named<"features", numbered<conv2d<A, 4, stride<4>, pad<0>>, convnext_norm>,  // 56x56
                                   convnext_stage<A, 0, 3, Third + 9, Most>, convnext_downsample<B>,      // 28x28
                                   convnext_stage<B, 3, 3, Third + 9, Most>, convnext_downsample<C>,      // 14x14
                                   convnext_stage<C, 6, Third, Third + 9, Most>, convnext_downsample<D>,  // 7x7
                                   convnext_stage<D, Third + 6, 3, Third + 9, Most>>,
                             global_avg_pool2d, named<"classifier", convnext_norm, flatten, dense<Classes>>, softmax> {
};

/// ConvNeXt (Liu et al. 2022), under torchvision's names; torchvision does not have the last one, which Keras has.
template <int Classes = 1000>
struct convnext_tiny : convnext<Classes, 9, 0.1, 96, 192, 384, 768> {};
template <int Classes = 1000>
struct convnext_small : convnext<Classes, 27, 0.4, 96, 192, 384, 768> {};
template <int Classes = 1000>
struct convnext_base : convnext<Classes, 27, 0.5, 128, 256, 512, 1024> {};
template <int Classes = 1000>
struct convnext_large : convnext<Classes, 27, 0.5, 192, 384, 768, 1536> {};
template <int Classes = 1000>
struct convnext_xlarge : convnext<Classes, 27, 0.5, 256, 512, 1024, 2048> {};

}  // namespace dsl::models
