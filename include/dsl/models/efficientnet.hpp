// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, squeeze-and-excitation, and a 1x1 one back.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, class Style>
struct mbconv_path : named<"block", conv_norm_activation<Expansion * Inputs, 1, 1, 1, silu, Style>,
                           conv_norm_activation<Expansion * Inputs, Kernel, Stride, Expansion * Inputs, silu, Style>,
                           squeeze_excitation<Expansion * Inputs, Inputs / 4, silu, sigmoid>,
                           conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};
template <int Inputs, int Filters, int Kernel, int Stride, class Style>
struct mbconv_path<Inputs, Filters, Kernel, Stride, 1, Style>
    : named<"block", conv_norm_activation<Inputs, Kernel, Stride, Inputs, silu, Style>,
            squeeze_excitation<Inputs, Inputs / 4, silu, sigmoid>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};

/// Paths First to First + Left - 1 of All. Each path that keeps the shape has a shortcut: all paths but the first of a
/// stage, and possibly that one. The rate of stochastic depth of these paths rises linearly from 0 to 0.2.
template <template <int, int, int, int, int, class> class Path, int Filters, int Kernel, int Expansion, class Style,
          int Number, int All>
struct efficientnet_block
    : residual<Path<Filters, Filters, Kernel, 1, Expansion, Style>, stochastic_depth<0.2 * Number / All>> {};
template <template <int, int, int, int, int, class> class Path, int Filters, int Kernel, int Expansion, class Style,
          int First, int Left, int All, class Head, class... Blocks>
struct efficientnet_blocks
    : efficientnet_blocks<Path, Filters, Kernel, Expansion, Style, First, Left - 1, All, Head,
                          efficientnet_block<Path, Filters, Kernel, Expansion, Style, First + Left - 1, All>,
                          Blocks...> {};
template <template <int, int, int, int, int, class> class Path, int Filters, int Kernel, int Expansion, class Style,
          int First, int All, class... Head, class... Blocks>
struct efficientnet_blocks<Path, Filters, Kernel, Expansion, Style, First, 0, All, types<Head...>, Blocks...>
    : numbered<Head..., Blocks...> {};

/// A stage of Count paths. Its member `layers` has the layers, once the number of earlier paths and that of all paths
/// are known.
template <template <int, int, int, int, int, class> class Path, int Inputs, int Filters, int Kernel, int Stride,
          int Expansion, int Count>
struct efficientnet_stage {
  static constexpr int count = Count;
  template <class Style, int First, int All>
  using layers = efficientnet_blocks<Path, Filters, Kernel, Expansion, Style, First + 1, Count - 1, All,
                                     types<sequential<Path<Inputs, Filters, Kernel, Stride, Expansion, Style>>>>;
};
template <template <int, int, int, int, int, class> class Path, int Filters, int Kernel, int Expansion, int Count>
struct efficientnet_stage<Path, Filters, Filters, Kernel, 1, Expansion, Count> {
  static constexpr int count = Count;
  template <class Style, int First, int All>
  using layers = efficientnet_blocks<Path, Filters, Kernel, Expansion, Style, First, Count, All, types<>>;
};

/// A stage of Count paths of mbconv_path, the first of which changes the shape.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, int Count>
struct mbconv_stage : efficientnet_stage<mbconv_path, Inputs, Filters, Kernel, Stride, Expansion, Count> {};

/// The stages in sequence, between a first convolution to Stem channels and a last one to Last channels.
template <int Classes, number Dropout, int Stem, int Last, class Style, int First, int All, class Done, class... Stages>
struct efficientnet_of;
template <int Classes, number Dropout, int Stem, int Last, class Style, int First, int All, class... Done, class Stage,
          class... Stages>
struct efficientnet_of<Classes, Dropout, Stem, Last, Style, First, All, types<Done...>, Stage, Stages...>
    : efficientnet_of<Classes, Dropout, Stem, Last, Style, First + Stage::count, All,
                      types<Done..., typename Stage::template layers<Style, First, All>>, Stages...> {};
template <int Classes, number Dropout, int Stem, int Last, class Style, int First, int All, class... Done>
struct efficientnet_of<Classes, Dropout, Stem, Last, Style, First, All, types<Done...>>
    : sequential<named<"features", conv_norm_activation<Stem, 3, 2, 1, silu, Style>, Done...,
                       conv_norm_activation<Last, 1, 1, 1, silu, Style>>,
                 global_avg_pool2d, flatten, named<"classifier", dropout<Dropout>, dense<Classes>>, softmax> {};

/// EfficientNet with the given stages; the rates of stochastic depth depend on the number of paths in all of them.
template <int Classes, number Dropout, int Stem, int Last, class Style, class... Stages>
struct efficientnet_stages
    : efficientnet_of<Classes, Dropout, Stem, Last, Style, 0, (Stages::count + ...), types<>, Stages...> {};
/// The number of output channels of a stage, and the number of its paths.
struct efficientnet_size {
  int filters;
  int count;
};

/// EfficientNets (Tan & Le 2019), with stochastic depth in training, as in torchvision.
template <int Classes, number Dropout, int Stem, class Style, efficientnet_size A, efficientnet_size B,
          efficientnet_size C, efficientnet_size D, efficientnet_size E, efficientnet_size F, efficientnet_size G>
struct efficientnet : efficientnet_stages<Classes, Dropout, Stem, 4 * G.filters, Style,          // 112x112
                                          mbconv_stage<Stem, A.filters, 3, 1, 1, A.count>,       //
                                          mbconv_stage<A.filters, B.filters, 3, 2, 6, B.count>,  // 56x56
                                          mbconv_stage<B.filters, C.filters, 5, 2, 6, C.count>,  // 28x28
                                          mbconv_stage<C.filters, D.filters, 3, 2, 6, D.count>,  // 14x14
                                          mbconv_stage<D.filters, E.filters, 5, 1, 6, E.count>,  //
                                          mbconv_stage<E.filters, F.filters, 5, 2, 6, F.count>,  // 7x7
                                          mbconv_stage<F.filters, G.filters, 3, 1, 6, G.count>> {};

/// EfficientNets (Tan & Le 2019), under torchvision's names.
template <int Classes = 1000, class Style = torch_style<>>
struct efficientnet_b0 : efficientnet<Classes, 0.2, 32, Style, efficientnet_size{16, 1}, efficientnet_size{24, 2},
                                      efficientnet_size{40, 2}, efficientnet_size{80, 3}, efficientnet_size{112, 3},
                                      efficientnet_size{192, 4}, efficientnet_size{320, 1}> {};
template <int Classes = 1000, class Style = torch_style<>>
struct efficientnet_b1 : efficientnet<Classes, 0.2, 32, Style, efficientnet_size{16, 2}, efficientnet_size{24, 3},
                                      efficientnet_size{40, 3}, efficientnet_size{80, 4}, efficientnet_size{112, 4},
                                      efficientnet_size{192, 5}, efficientnet_size{320, 2}> {};
template <int Classes = 1000, class Style = torch_style<>>
struct efficientnet_b2 : efficientnet<Classes, 0.3, 32, Style, efficientnet_size{16, 2}, efficientnet_size{24, 3},
                                      efficientnet_size{48, 3}, efficientnet_size{88, 4}, efficientnet_size{120, 4},
                                      efficientnet_size{208, 5}, efficientnet_size{352, 2}> {};
template <int Classes = 1000, class Style = torch_style<>>
struct efficientnet_b3 : efficientnet<Classes, 0.3, 40, Style, efficientnet_size{24, 2}, efficientnet_size{32, 3},
                                      efficientnet_size{48, 3}, efficientnet_size{96, 5}, efficientnet_size{136, 5},
                                      efficientnet_size{232, 6}, efficientnet_size{384, 2}> {};
template <int Classes = 1000, class Style = torch_style<>>
struct efficientnet_b4 : efficientnet<Classes, 0.4, 48, Style, efficientnet_size{24, 2}, efficientnet_size{32, 4},
                                      efficientnet_size{56, 4}, efficientnet_size{112, 6}, efficientnet_size{160, 6},
                                      efficientnet_size{272, 8}, efficientnet_size{448, 2}> {};
template <int Classes = 1000, class Style = torch_style<batch_norm<>>>
struct efficientnet_b5 : efficientnet<Classes, 0.4, 48, Style, efficientnet_size{24, 3}, efficientnet_size{40, 5},
                                      efficientnet_size{64, 5}, efficientnet_size{128, 7}, efficientnet_size{176, 7},
                                      efficientnet_size{304, 9}, efficientnet_size{512, 3}> {};
template <int Classes = 1000, class Style = torch_style<batch_norm<>>>
struct efficientnet_b6 : efficientnet<Classes, 0.5, 56, Style, efficientnet_size{32, 3}, efficientnet_size{40, 6},
                                      efficientnet_size{72, 6}, efficientnet_size{144, 8}, efficientnet_size{200, 8},
                                      efficientnet_size{344, 11}, efficientnet_size{576, 3}> {};
template <int Classes = 1000, class Style = torch_style<batch_norm<>>>
struct efficientnet_b7 : efficientnet<Classes, 0.5, 64, Style, efficientnet_size{32, 4}, efficientnet_size{48, 7},
                                      efficientnet_size{80, 7}, efficientnet_size{160, 10}, efficientnet_size{224, 10},
                                      efficientnet_size{384, 13}, efficientnet_size{640, 4}> {};

}  // namespace dsl::models
