// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/residual.hpp>
#include <dsl/layers/dropout.hpp>
#include <dsl/models/parts.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// A convolution with TensorFlow's padding, which is not PyTorch's at stride 2, and without bias; then normalisation.
template <int Filters, int Kernel, int Stride, int Groups = 1>
struct same_conv_norm
    : sequential<conv2d<Filters, Kernel, stride<Stride>, padding::same, groups<Groups>, bias<false>>, batch_norm<0.9>> {
};

/// A fused block of Keras's EfficientNetV2: a 3x3 convolution to Expansion times Inputs channels and a 1x1 one, or a
/// single convolution if Expansion is 1.
template <int Inputs, int Filters, int Stride, int Expansion>
struct keras_fused_path
    : sequential<same_conv_norm<Expansion * Inputs, 3, Stride>, silu, same_conv_norm<Filters, 1, 1>> {};
template <int Inputs, int Filters, int Stride>
struct keras_fused_path<Inputs, Filters, Stride, 1> : sequential<same_conv_norm<Filters, 3, Stride>, silu> {};

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise 3x3 one, squeeze-and-excitation, and a 1x1 one.
template <int Inputs, int Filters, int Stride, int Expansion>
struct keras_mbconv_path
    : sequential<same_conv_norm<Expansion * Inputs, 1, 1>, silu,
                 same_conv_norm<Expansion * Inputs, 3, Stride, Expansion * Inputs>, silu,
                 squeeze_excitation<Expansion * Inputs, Inputs / 4, silu, sigmoid>, same_conv_norm<Filters, 1, 1>> {};

/// Paths of a stage that keep the shape, Number to Number + Left - 1 of All in the network. The rate of stochastic
/// depth rises linearly from 0 to 0.2.
template <template <int, int, int, int> class Path, int Filters, int Expansion, int Number, int Left, int All,
          class... Done>
struct keras_paths
    : keras_paths<Path, Filters, Expansion, Number, Left - 1, All,
                  residual<Path<Filters, Filters, 1, Expansion>, stochastic_depth<0.2 * (Number + Left - 1) / All>>,
                  Done...> {};
template <template <int, int, int, int> class Path, int Filters, int Expansion, int Number, int All, class... Done>
struct keras_paths<Path, Filters, Expansion, Number, 0, All, Done...> : sequential<Done...> {};

/// A stage of Count paths, of which the first may change the shape. Number is the number of paths before it.
template <template <int, int, int, int> class Path, int Inputs, int Filters, int Stride, int Expansion, int Number,
          int Count, int All>
struct keras_stage : sequential<Path<Inputs, Filters, Stride, Expansion>,
                                keras_paths<Path, Filters, Expansion, Number + 1, Count - 1, All>> {};
template <template <int, int, int, int> class Path, int Filters, int Expansion, int Number, int Count, int All>
struct keras_stage<Path, Filters, Filters, 1, Expansion, Number, Count, All>
    : keras_paths<Path, Filters, Expansion, Number, Count, All> {};

/// Six stages of A to F channels; the first three are fused. Counts are the numbers of paths.
template <int Classes, int Last, int Stem, int A, int B, int C, int D, int E, int F, int CountA, int CountB, int CountC,
          int CountD, int CountE, int CountF, int All = CountA + CountB + CountC + CountD + CountE + CountF>
struct keras_efficientnet_v2
    : sequential<same_conv_norm<Stem, 3, 2>, silu,  //
                 keras_stage<keras_fused_path, Stem, A, 1, 1, 0, CountA, All>,
                 keras_stage<keras_fused_path, A, B, 2, 4, CountA, CountB, All>,
                 keras_stage<keras_fused_path, B, C, 2, 4, CountA + CountB, CountC, All>,
                 keras_stage<keras_mbconv_path, C, D, 2, 4, CountA + CountB + CountC, CountD, All>,
                 keras_stage<keras_mbconv_path, D, E, 1, 6, CountA + CountB + CountC + CountD, CountE, All>,
                 keras_stage<keras_mbconv_path, E, F, 2, 6, All - CountF, CountF, All>,  //
                 same_conv_norm<Last, 1, 1>, silu, global_avg_pool2d, flatten, dropout<0.2>, dense<Classes>, softmax> {
};

/// The small EfficientNetV2 (Tan & Le 2021) of keras.applications, for images of 224, 240, 260 and 300 pixels that are
/// already normalised: Keras's own layers for that have no weights.
template <int Classes = 1000>
struct efficientnet_v2_b0 : keras_efficientnet_v2<Classes, 1280, 32, 16, 32, 48, 96, 112, 192, 1, 2, 2, 3, 5, 8> {};
template <int Classes = 1000>
struct efficientnet_v2_b1 : keras_efficientnet_v2<Classes, 1280, 32, 16, 32, 48, 96, 112, 192, 2, 3, 3, 4, 6, 9> {};
template <int Classes = 1000>
struct efficientnet_v2_b2 : keras_efficientnet_v2<Classes, 1408, 32, 16, 32, 56, 104, 120, 208, 2, 3, 3, 4, 6, 10> {};
template <int Classes = 1000>
struct efficientnet_v2_b3 : keras_efficientnet_v2<Classes, 1536, 40, 16, 40, 56, 112, 136, 232, 2, 3, 3, 5, 7, 12> {};

}  // namespace dsl::models
