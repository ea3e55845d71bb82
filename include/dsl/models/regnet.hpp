// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// Squeeze-and-excitation; none if Squeezed is 0.
template <int Channels, int Squeezed>
struct regnet_excitation : named<"se", squeeze_excitation<Channels, Squeezed, relu, sigmoid>> {};
template <int Channels>
struct regnet_excitation<Channels, 0> : identity {};

template <int Filters, int Stride, int GroupWidth, int Squeezed>
struct regnet_path
    : named<"f", named<"a", conv_norm_activation<Filters, 1, 1, 1, relu>>,
            named<"b", conv_norm_activation<Filters, 3, Stride, Filters / GroupWidth, relu>>,
            regnet_excitation<Filters, Squeezed>, named<"c", conv_norm_activation<Filters, 1, 1, 1, identity>>> {};

/// The first block of a stage, which halves height and width.
template <int Filters, int GroupWidth, int Squeezed>
struct regnet_first : sequential<add<named<"proj", conv_norm_activation<Filters, 1, 2, 1, identity>>,
                                     regnet_path<Filters, 2, GroupWidth, Squeezed>>,
                                 relu> {};
template <int Filters, int GroupWidth, int Squeezed>
struct regnet_block : sequential<residual<regnet_path<Filters, 1, GroupWidth, Squeezed>>, relu> {};

/// The prefix of block names in a stage: "block2-" for stage 2.
template <int Stage>
inline constexpr auto regnet_prefix = [] {
  label prefix("block0-");
  prefix.text[5] = static_cast<char>('0' + Stage);
  return prefix;
}();

template <int Stage, int Left, int Filters, int GroupWidth, int Squeezed, class... Blocks>
struct regnet_blocks
    : regnet_blocks<Stage, Left - 1, Filters, GroupWidth, Squeezed,
                    named<numbered_label<regnet_prefix<Stage>, Left>, regnet_block<Filters, GroupWidth, Squeezed>>,
                    Blocks...> {};
template <int Stage, int Filters, int GroupWidth, int Squeezed, class... Blocks>
struct regnet_blocks<Stage, 0, Filters, GroupWidth, Squeezed, Blocks...> : sequential<Blocks...> {};

/// Count blocks of Filters channels in groups of GroupWidth. First and Later are the channels to which
/// squeeze-and-excitation squeezes in the first and in later blocks; 0: none.
template <int Stage, int Count, int Filters, int GroupWidth, int First = 0, int Later = 0>
struct regnet_stage
    : named<numbered_label<"block", Stage>,
            sequential<named<numbered_label<regnet_prefix<Stage>, 0>, regnet_first<Filters, GroupWidth, First>>,
                       regnet_blocks<Stage, Count - 1, Filters, GroupWidth, Later>>> {};

template <int Classes, class... Stages>
struct regnet : sequential<named<"stem", conv_norm_activation<32, 3, 2, 1, relu>>,
                           named<"trunk_output", sequential<Stages...>>, classifier<"fc", Classes>> {};

/// RegNets (Radosavovic et al. 2020) with 400 million multiply-adds, with and without squeeze-and-excitation.
template <int Classes = 1000>
struct regnet_y_400mf : regnet<Classes,                              //
                               regnet_stage<1, 1, 48, 8, 8, 12>,     // 48x56x56
                               regnet_stage<2, 3, 104, 8, 12, 26>,   // 104x28x28
                               regnet_stage<3, 6, 208, 8, 26, 52>,   // 208x14x14
                               regnet_stage<4, 6, 440, 8, 52, 110>>  // 440x7x7
{};
template <int Classes = 1000>
struct regnet_x_400mf : regnet<Classes,                       //
                               regnet_stage<1, 1, 32, 16>,    // 32x56x56
                               regnet_stage<2, 2, 64, 16>,    // 64x28x28
                               regnet_stage<3, 7, 160, 16>,   // 160x14x14
                               regnet_stage<4, 12, 400, 16>>  // 400x7x7
{};

}  // namespace dsl::models
