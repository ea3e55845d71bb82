// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, squeeze-and-excitation, and a 1x1 convolution
/// to Filters.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion>
struct mbconv_path : named<"block", conv_norm_activation<Expansion * Inputs, 1, 1, 1, silu>,
                           conv_norm_activation<Expansion * Inputs, Kernel, Stride, Expansion * Inputs, silu>,
                           squeeze_excitation<Expansion * Inputs, Inputs / 4, silu, sigmoid>,
                           conv_norm_activation<Filters, 1, 1, 1, identity>> {};
template <int Inputs, int Filters, int Kernel, int Stride>
struct mbconv_path<Inputs, Filters, Kernel, Stride, 1>
    : named<"block", conv_norm_activation<Inputs, Kernel, Stride, Inputs, silu>,
            squeeze_excitation<Inputs, Inputs / 4, silu, sigmoid>, conv_norm_activation<Filters, 1, 1, 1, identity>> {};

/// A path that changes the shape, and Count - 1 that keep it, with shortcuts.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, int Count>
struct mbconv_stage : numbered<sequential<mbconv_path<Inputs, Filters, Kernel, Stride, Expansion>>,
                               repeat<Count - 1, residual<mbconv_path<Filters, Filters, Kernel, 1, Expansion>>>> {};

/// EfficientNet-B0 (Tan & Le 2019), without the stochastic depth that torchvision uses in training.
template <int Classes = 1000>
struct efficientnet_b0
    : sequential<named<"features", conv_norm_activation<32, 3, 2, 1, silu>,  // 32x112x112
                       mbconv_stage<32, 16, 3, 1, 1, 1>,                     //
                       mbconv_stage<16, 24, 3, 2, 6, 2>,                     // 24x56x56
                       mbconv_stage<24, 40, 5, 2, 6, 2>,                     // 40x28x28
                       mbconv_stage<40, 80, 3, 2, 6, 3>,                     // 80x14x14
                       mbconv_stage<80, 112, 5, 1, 6, 3>,                    //
                       mbconv_stage<112, 192, 5, 2, 6, 4>,                   // 192x7x7
                       mbconv_stage<192, 320, 3, 1, 6, 1>,                   //
                       conv_norm_activation<1280, 1, 1, 1, silu>>,           //
                 global_avg_pool2d, flatten, named<"classifier", dropout<0.2>, dense<Classes>>, softmax> {};

}  // namespace dsl::models
