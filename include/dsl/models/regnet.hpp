// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// Squeeze-and-excitation. If Squeezed is 0, there is none.
template <int Channels, int Squeezed>
struct regnet_excitation : named<"se", squeeze_excitation<Channels, Squeezed, relu, sigmoid>> {};
template <int Channels>
struct regnet_excitation<Channels, 0> : identity {};

/// A 1x1 convolution, a 3x3 one in groups of GroupWidth channels, squeeze-and-excitation, and a 1x1 convolution.
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

/// The blocks of a stage after its first one.
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

/// RegNet with the given stages, between its first convolution and its classifier.
template <int Classes, class... Stages>
struct regnet : sequential<named<"stem", conv_norm_activation<32, 3, 2, 1, relu>>,
                           named<"trunk_output", sequential<Stages...>>, classifier<"fc", Classes>> {};

/// RegNets (Radosavovic et al. 2020), named by their multiply-adds: Y with squeeze-and-excitation, X without. Stages
/// halve height and width, to 56x56, 28x28, 14x14 and 7x7.
template <int Classes = 1000>
struct regnet_y_400mf : regnet<Classes,                             //
                               regnet_stage<1, 1, 48, 8, 8, 12>,    //
                               regnet_stage<2, 3, 104, 8, 12, 26>,  //
                               regnet_stage<3, 6, 208, 8, 26, 52>,  //
                               regnet_stage<4, 6, 440, 8, 52, 110>> {};
template <int Classes = 1000>
struct regnet_y_800mf : regnet<Classes,                              //
                               regnet_stage<1, 1, 64, 16, 8, 16>,    //
                               regnet_stage<2, 3, 144, 16, 16, 36>,  //
                               regnet_stage<3, 8, 320, 16, 36, 80>,  //
                               regnet_stage<4, 2, 784, 16, 80, 196>> {};
template <int Classes = 1000>
struct regnet_y_1_6gf : regnet<Classes,                               //
                               regnet_stage<1, 2, 48, 24, 8, 12>,     //
                               regnet_stage<2, 6, 120, 24, 12, 30>,   //
                               regnet_stage<3, 17, 336, 24, 30, 84>,  //
                               regnet_stage<4, 2, 888, 24, 84, 222>> {};
template <int Classes = 1000>
struct regnet_y_3_2gf : regnet<Classes,                                //
                               regnet_stage<1, 2, 72, 24, 8, 18>,      //
                               regnet_stage<2, 5, 216, 24, 18, 54>,    //
                               regnet_stage<3, 13, 576, 24, 54, 144>,  //
                               regnet_stage<4, 1, 1512, 24, 144, 378>> {};
template <int Classes = 1000>
struct regnet_y_8gf : regnet<Classes,                                 //
                             regnet_stage<1, 2, 224, 56, 8, 56>,      //
                             regnet_stage<2, 4, 448, 56, 56, 112>,    //
                             regnet_stage<3, 10, 896, 56, 112, 224>,  //
                             regnet_stage<4, 1, 2016, 56, 224, 504>> {};
template <int Classes = 1000>
struct regnet_y_16gf : regnet<Classes,                                   //
                              regnet_stage<1, 2, 224, 112, 8, 56>,       //
                              regnet_stage<2, 4, 448, 112, 56, 112>,     //
                              regnet_stage<3, 11, 1232, 112, 112, 308>,  //
                              regnet_stage<4, 1, 3024, 112, 308, 756>> {};
template <int Classes = 1000>
struct regnet_y_32gf : regnet<Classes,                                   //
                              regnet_stage<1, 2, 232, 232, 8, 58>,       //
                              regnet_stage<2, 5, 696, 232, 58, 174>,     //
                              regnet_stage<3, 12, 1392, 232, 174, 348>,  //
                              regnet_stage<4, 1, 3712, 232, 348, 928>> {};
template <int Classes = 1000>
struct regnet_y_128gf : regnet<Classes,                                   //
                               regnet_stage<1, 2, 528, 264, 8, 132>,      //
                               regnet_stage<2, 7, 1056, 264, 132, 264>,   //
                               regnet_stage<3, 17, 2904, 264, 264, 726>,  //
                               regnet_stage<4, 1, 7392, 264, 726, 1848>> {};
template <int Classes = 1000>
struct regnet_x_400mf : regnet<Classes,                      //
                               regnet_stage<1, 1, 32, 16>,   //
                               regnet_stage<2, 2, 64, 16>,   //
                               regnet_stage<3, 7, 160, 16>,  //
                               regnet_stage<4, 12, 400, 16>> {};
template <int Classes = 1000>
struct regnet_x_800mf : regnet<Classes,                      //
                               regnet_stage<1, 1, 64, 16>,   //
                               regnet_stage<2, 3, 128, 16>,  //
                               regnet_stage<3, 7, 288, 16>,  //
                               regnet_stage<4, 5, 672, 16>> {};
template <int Classes = 1000>
struct regnet_x_1_6gf : regnet<Classes,                       //
                               regnet_stage<1, 2, 72, 24>,    //
                               regnet_stage<2, 4, 168, 24>,   //
                               regnet_stage<3, 10, 408, 24>,  //
                               regnet_stage<4, 2, 912, 24>> {};
template <int Classes = 1000>
struct regnet_x_3_2gf : regnet<Classes,                       //
                               regnet_stage<1, 2, 96, 48>,    //
                               regnet_stage<2, 6, 192, 48>,   //
                               regnet_stage<3, 15, 432, 48>,  //
                               regnet_stage<4, 2, 1008, 48>> {};
template <int Classes = 1000>
struct regnet_x_8gf : regnet<Classes,                        //
                             regnet_stage<1, 2, 80, 80>,     //
                             regnet_stage<2, 5, 240, 120>,   //
                             regnet_stage<3, 15, 720, 120>,  //
                             regnet_stage<4, 1, 1920, 120>> {};
template <int Classes = 1000>
struct regnet_x_16gf : regnet<Classes,                        //
                              regnet_stage<1, 2, 256, 128>,   //
                              regnet_stage<2, 6, 512, 128>,   //
                              regnet_stage<3, 13, 896, 128>,  //
                              regnet_stage<4, 1, 2048, 128>> {};
template <int Classes = 1000>
struct regnet_x_32gf : regnet<Classes,                         //
                              regnet_stage<1, 2, 336, 168>,    //
                              regnet_stage<2, 7, 672, 168>,    //
                              regnet_stage<3, 13, 1344, 168>,  //
                              regnet_stage<4, 1, 2520, 168>> {};

}  // namespace dsl::models
