// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, squeeze-and-excitation, and a 1x1 one back.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, class Norm>
struct mbconv_path : named<"block", conv_norm_activation<Expansion * Inputs, 1, 1, 1, silu, Norm>,
                           conv_norm_activation<Expansion * Inputs, Kernel, Stride, Expansion * Inputs, silu, Norm>,
                           squeeze_excitation<Expansion * Inputs, Inputs / 4, silu, sigmoid>,
                           conv_norm_activation<Filters, 1, 1, 1, identity, Norm>> {};
template <int Inputs, int Filters, int Kernel, int Stride, class Norm>
struct mbconv_path<Inputs, Filters, Kernel, Stride, 1, Norm>
    : named<"block", conv_norm_activation<Inputs, Kernel, Stride, Inputs, silu, Norm>,
            squeeze_excitation<Inputs, Inputs / 4, silu, sigmoid>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Norm>> {};

/// The fused variant: one convolution instead of the first two, and no squeeze-and-excitation.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, class Norm>
struct fused_mbconv_path : named<"block", conv_norm_activation<Expansion * Inputs, Kernel, Stride, 1, silu, Norm>,
                                 conv_norm_activation<Filters, 1, 1, 1, identity, Norm>> {};
template <int Inputs, int Filters, int Kernel, int Stride, class Norm>
struct fused_mbconv_path<Inputs, Filters, Kernel, Stride, 1, Norm>
    : named<"block", numbered<conv_norm_activation<Filters, Kernel, Stride, 1, silu, Norm>>> {};

/// Count paths, with a shortcut around each that keeps the shape: all but the first one, and possibly that.
template <template <int, int, int, int, int, class> class Path, int Inputs, int Filters, int Kernel, int Stride,
          int Expansion, int Count, class Norm>
struct efficientnet_stage : numbered<sequential<Path<Inputs, Filters, Kernel, Stride, Expansion, Norm>>,
                                     repeat<Count - 1, residual<Path<Filters, Filters, Kernel, 1, Expansion, Norm>>>> {
};
template <template <int, int, int, int, int, class> class Path, int Filters, int Kernel, int Expansion, int Count,
          class Norm>
struct efficientnet_stage<Path, Filters, Filters, Kernel, 1, Expansion, Count, Norm>
    : numbered<repeat<Count, residual<Path<Filters, Filters, Kernel, 1, Expansion, Norm>>>> {};

template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, int Count, class Norm>
struct mbconv_stage : efficientnet_stage<mbconv_path, Inputs, Filters, Kernel, Stride, Expansion, Count, Norm> {};
template <int Inputs, int Filters, int Stride, int Expansion, int Count, class Norm>
struct fused_mbconv_stage : efficientnet_stage<fused_mbconv_path, Inputs, Filters, 3, Stride, Expansion, Count, Norm> {
};

template <int Classes, number Dropout, int Stem, int Last, class Norm, class... Stages>
struct efficientnet_of
    : sequential<named<"features", conv_norm_activation<Stem, 3, 2, 1, silu, Norm>, Stages...,
                       conv_norm_activation<Last, 1, 1, 1, silu, Norm>>,
                 global_avg_pool2d, flatten, named<"classifier", dropout<Dropout>, dense<Classes>>, softmax> {};

/// A stage's output channels and number of paths.
struct efficientnet_size {
  int filters;
  int count;
};

/// EfficientNets (Tan & Le 2019), without the stochastic depth that torchvision uses in training.
template <int Classes, number Dropout, int Stem, class Norm, efficientnet_size A, efficientnet_size B,
          efficientnet_size C, efficientnet_size D, efficientnet_size E, efficientnet_size F, efficientnet_size G>
struct efficientnet : efficientnet_of<Classes, Dropout, Stem, 4 * G.filters, Norm,                 // 112x112
                                      mbconv_stage<Stem, A.filters, 3, 1, 1, A.count, Norm>,       //
                                      mbconv_stage<A.filters, B.filters, 3, 2, 6, B.count, Norm>,  // 56x56
                                      mbconv_stage<B.filters, C.filters, 5, 2, 6, C.count, Norm>,  // 28x28
                                      mbconv_stage<C.filters, D.filters, 3, 2, 6, D.count, Norm>,  // 14x14
                                      mbconv_stage<D.filters, E.filters, 5, 1, 6, E.count, Norm>,  //
                                      mbconv_stage<E.filters, F.filters, 5, 2, 6, F.count, Norm>,  // 7x7
                                      mbconv_stage<F.filters, G.filters, 3, 1, 6, G.count, Norm>> {};

/// EfficientNet-B0 (Tan & Le 2019), without the stochastic depth that torchvision uses in training.
template <int Classes = 1000>
struct efficientnet_b0 : efficientnet<Classes, 0.2, 32, torch_norm, efficientnet_size{16, 1}, efficientnet_size{24, 2},
                                      efficientnet_size{40, 2}, efficientnet_size{80, 3}, efficientnet_size{112, 3},
                                      efficientnet_size{192, 4}, efficientnet_size{320, 1}> {};
template <int Classes = 1000>
struct efficientnet_b1 : efficientnet<Classes, 0.2, 32, torch_norm, efficientnet_size{16, 2}, efficientnet_size{24, 3},
                                      efficientnet_size{40, 3}, efficientnet_size{80, 4}, efficientnet_size{112, 4},
                                      efficientnet_size{192, 5}, efficientnet_size{320, 2}> {};
template <int Classes = 1000>
struct efficientnet_b2 : efficientnet<Classes, 0.3, 32, torch_norm, efficientnet_size{16, 2}, efficientnet_size{24, 3},
                                      efficientnet_size{48, 3}, efficientnet_size{88, 4}, efficientnet_size{120, 4},
                                      efficientnet_size{208, 5}, efficientnet_size{352, 2}> {};
template <int Classes = 1000>
struct efficientnet_b3 : efficientnet<Classes, 0.3, 40, torch_norm, efficientnet_size{24, 2}, efficientnet_size{32, 3},
                                      efficientnet_size{48, 3}, efficientnet_size{96, 5}, efficientnet_size{136, 5},
                                      efficientnet_size{232, 6}, efficientnet_size{384, 2}> {};
template <int Classes = 1000>
struct efficientnet_b4 : efficientnet<Classes, 0.4, 48, torch_norm, efficientnet_size{24, 2}, efficientnet_size{32, 4},
                                      efficientnet_size{56, 4}, efficientnet_size{112, 6}, efficientnet_size{160, 6},
                                      efficientnet_size{272, 8}, efficientnet_size{448, 2}> {};
template <int Classes = 1000>
struct efficientnet_b5 : efficientnet<Classes, 0.4, 48, batch_norm<>, efficientnet_size{24, 3},
                                      efficientnet_size{40, 5}, efficientnet_size{64, 5}, efficientnet_size{128, 7},
                                      efficientnet_size{176, 7}, efficientnet_size{304, 9}, efficientnet_size{512, 3}> {
};
template <int Classes = 1000>
struct efficientnet_b6
    : efficientnet<Classes, 0.5, 56, batch_norm<>, efficientnet_size{32, 3}, efficientnet_size{40, 6},
                   efficientnet_size{72, 6}, efficientnet_size{144, 8}, efficientnet_size{200, 8},
                   efficientnet_size{344, 11}, efficientnet_size{576, 3}> {};
template <int Classes = 1000>
struct efficientnet_b7
    : efficientnet<Classes, 0.5, 64, batch_norm<>, efficientnet_size{32, 4}, efficientnet_size{48, 7},
                   efficientnet_size{80, 7}, efficientnet_size{160, 10}, efficientnet_size{224, 10},
                   efficientnet_size{384, 13}, efficientnet_size{640, 4}> {};

using efficientnet_v2_norm = batch_norm<0.9, 1e-3>;

/// EfficientNetV2 (Tan & Le 2021), whose first stages are fused.
template <int Classes = 1000>
struct efficientnet_v2_s : efficientnet_of<Classes, 0.2, 24, 1280, efficientnet_v2_norm,               //
                                           fused_mbconv_stage<24, 24, 1, 1, 2, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<24, 48, 2, 4, 4, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<48, 64, 2, 4, 4, efficientnet_v2_norm>,  //
                                           mbconv_stage<64, 128, 3, 2, 4, 6, efficientnet_v2_norm>,    //
                                           mbconv_stage<128, 160, 3, 1, 6, 9, efficientnet_v2_norm>,   //
                                           mbconv_stage<160, 256, 3, 2, 6, 15, efficientnet_v2_norm>> {};
template <int Classes = 1000>
struct efficientnet_v2_m : efficientnet_of<Classes, 0.3, 24, 1280, efficientnet_v2_norm,               //
                                           fused_mbconv_stage<24, 24, 1, 1, 3, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<24, 48, 2, 4, 5, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<48, 80, 2, 4, 5, efficientnet_v2_norm>,  //
                                           mbconv_stage<80, 160, 3, 2, 4, 7, efficientnet_v2_norm>,    //
                                           mbconv_stage<160, 176, 3, 1, 6, 14, efficientnet_v2_norm>,  //
                                           mbconv_stage<176, 304, 3, 2, 6, 18, efficientnet_v2_norm>,  //
                                           mbconv_stage<304, 512, 3, 1, 6, 5, efficientnet_v2_norm>> {};
template <int Classes = 1000>
struct efficientnet_v2_l : efficientnet_of<Classes, 0.4, 32, 1280, efficientnet_v2_norm,               //
                                           fused_mbconv_stage<32, 32, 1, 1, 4, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<32, 64, 2, 4, 7, efficientnet_v2_norm>,  //
                                           fused_mbconv_stage<64, 96, 2, 4, 7, efficientnet_v2_norm>,  //
                                           mbconv_stage<96, 192, 3, 2, 4, 10, efficientnet_v2_norm>,   //
                                           mbconv_stage<192, 224, 3, 1, 6, 19, efficientnet_v2_norm>,  //
                                           mbconv_stage<224, 384, 3, 2, 6, 25, efficientnet_v2_norm>,  //
                                           mbconv_stage<384, 640, 3, 1, 6, 7, efficientnet_v2_norm>> {};

}  // namespace dsl::models
