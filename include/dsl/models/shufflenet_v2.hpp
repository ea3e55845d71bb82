// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/channel_split.hpp>
#include <dsl/layers/channels.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A 1x1 convolution, a depthwise 3x3 one, and another 1x1 one.
template <int Filters, int Stride>
struct shuffle_path : named<"branch2", conv2d<Filters, 1, bias<false>>, torch_norm, relu,
                            conv2d<Filters, 3, stride<Stride>, pad<1>, groups<Filters>, bias<false>>, torch_norm,
                            conv2d<Filters, 1, bias<false>>, torch_norm, relu> {};

/// Applies a path to half of the channels, and shuffles all channels.
template <int Filters>
struct shuffle_block : sequential<channel_split<identity, shuffle_path<Filters / 2, 1>>, channel_shuffle<2>> {};

/// The first block of a stage, which halves height and width.
template <int Inputs, int Filters>
struct shuffle_first
    : sequential<concat<named<"branch1", conv2d<Inputs, 3, stride<2>, pad<1>, groups<Inputs>, bias<false>>, torch_norm,
                              conv2d<Filters / 2, 1, bias<false>>, torch_norm, relu>,
                        shuffle_path<Filters / 2, 2>>,
                 channel_shuffle<2>> {};

/// A stage of Count blocks, the first of which halves height and width.
template <label Name, int Count, int Inputs, int Filters>
struct shuffle_stage : named<Name, shuffle_first<Inputs, Filters>, repeat<Count - 1, shuffle_block<Filters>>> {};

/// ShuffleNetV2 (Ma et al. 2018); First to Third are the numbers of channels in its stages.
template <int Classes, int First, int Second, int Third, int Last>
struct shufflenet_v2
    : sequential<named<"conv1", conv2d<24, 3, stride<2>, pad<1>, bias<false>>, torch_norm, relu>,  // 24x112x112
                 max_pool2d<3, 2, pad<1>>,                                                         // 24x56x56
                 shuffle_stage<"stage2", 4, 24, First>,                                            // 28x28
                 shuffle_stage<"stage3", 8, First, Second>,                                        // 14x14
                 shuffle_stage<"stage4", 4, Second, Third>,                                        // 7x7
                 named<"conv5", conv2d<Last, 1, bias<false>>, torch_norm, relu>, classifier<"fc", Classes>> {};

/// ShuffleNetV2 (Ma et al. 2018), named by its width.
template <int Classes = 1000>
struct shufflenet_v2_x0_5 : shufflenet_v2<Classes, 48, 96, 192, 1024> {};
template <int Classes = 1000>
struct shufflenet_v2_x1_0 : shufflenet_v2<Classes, 116, 232, 464, 1024> {};
template <int Classes = 1000>
struct shufflenet_v2_x1_5 : shufflenet_v2<Classes, 176, 352, 704, 1024> {};
template <int Classes = 1000>
struct shufflenet_v2_x2_0 : shufflenet_v2<Classes, 244, 488, 976, 2048> {};

}  // namespace dsl::models
