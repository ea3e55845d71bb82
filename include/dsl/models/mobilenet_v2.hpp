// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A convolution without bias, padded to keep height and width at stride 1, followed by Norm and Activation.
template <int Filters, int Kernel, int Stride, int Groups, class Activation, class Norm = torch_norm>
struct conv_norm_activation
    : sequential<conv2d<Filters, Kernel, stride<Stride>, pad<(Kernel - 1) / 2>, groups<Groups>, bias<false>>, Norm,
                 Activation> {};

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, and a 1x1 convolution to Filters.
template <int Inputs, int Filters, int Stride, int Expansion>
struct inverted_residual_path : named<"conv", conv_norm_activation<Expansion * Inputs, 1, 1, 1, relu6>,
                                      conv_norm_activation<Expansion * Inputs, 3, Stride, Expansion * Inputs, relu6>,
                                      conv2d<Filters, 1, bias<false>>, torch_norm> {};
template <int Inputs, int Filters, int Stride>
struct inverted_residual_path<Inputs, Filters, Stride, 1>
    : named<"conv", conv_norm_activation<Inputs, 3, Stride, Inputs, relu6>, conv2d<Filters, 1, bias<false>>,
            torch_norm> {};

/// An inverted_residual_path, with a shortcut if it keeps the shape (Sandler et al. 2018).
template <int Inputs, int Filters, int Stride, int Expansion>
struct inverted_residual : sequential<inverted_residual_path<Inputs, Filters, Stride, Expansion>> {};
template <int Filters, int Expansion>
struct inverted_residual<Filters, Filters, 1, Expansion>
    : residual<inverted_residual_path<Filters, Filters, 1, Expansion>> {};

/// MobileNetV2 (Sandler et al. 2018).
template <int Classes = 1000>
struct mobilenet_v2
    : sequential<named<"features", conv_norm_activation<32, 3, 2, 1, relu6>,                            // 32x112x112
                       inverted_residual<32, 16, 1, 1>,                                                 //
                       inverted_residual<16, 24, 2, 6>, inverted_residual<24, 24, 1, 6>,                // 24x56x56
                       inverted_residual<24, 32, 2, 6>, repeat<2, inverted_residual<32, 32, 1, 6>>,     // 32x28x28
                       inverted_residual<32, 64, 2, 6>, repeat<3, inverted_residual<64, 64, 1, 6>>,     // 64x14x14
                       inverted_residual<64, 96, 1, 6>, repeat<2, inverted_residual<96, 96, 1, 6>>,     //
                       inverted_residual<96, 160, 2, 6>, repeat<2, inverted_residual<160, 160, 1, 6>>,  // 160x7x7
                       inverted_residual<160, 320, 1, 6>, conv_norm_activation<1280, 1, 1, 1, relu6>>,  //
                 global_avg_pool2d, flatten, named<"classifier", dropout<0.2>, dense<Classes>>, softmax> {};

}  // namespace dsl::models
