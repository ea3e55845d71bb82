// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A convolution without bias, padded to keep height and width at stride 1, followed by a norm and Activation. Style is
/// torch_style or keras_style.
template <int Filters, int Kernel, int Stride, int Groups, class Activation, class Style = torch_style<>>
struct conv_norm_activation
    : sequential<conv2d<Filters, Kernel, stride<Stride>, Style::template zeros<Kernel>, groups<Groups>, bias<false>>,
                 typename Style::norm, Activation> {};

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, and a 1x1 convolution to Filters.
template <class Style, int Inputs, int Filters, int Stride, int Expansion>
struct inverted_residual_path
    : named<"conv", conv_norm_activation<Expansion * Inputs, 1, 1, 1, relu6, Style>,
            conv_norm_activation<Expansion * Inputs, 3, Stride, Expansion * Inputs, relu6, Style>,
            conv2d<Filters, 1, bias<false>>, typename Style::norm> {};
template <class Style, int Inputs, int Filters, int Stride>
struct inverted_residual_path<Style, Inputs, Filters, Stride, 1>
    : named<"conv", conv_norm_activation<Inputs, 3, Stride, Inputs, relu6, Style>, conv2d<Filters, 1, bias<false>>,
            typename Style::norm> {};

/// An inverted_residual_path, with a shortcut if it keeps the shape (Sandler et al. 2018).
template <class Style, int Inputs, int Filters, int Stride, int Expansion>
struct inverted_residual : sequential<inverted_residual_path<Style, Inputs, Filters, Stride, Expansion>> {};
template <class Style, int Filters, int Expansion>
struct inverted_residual<Style, Filters, Filters, 1, Expansion>
    : residual<inverted_residual_path<Style, Filters, Filters, 1, Expansion>> {};

/// MobileNetV2 in torch_style or keras_style, with the given classifier.
template <class Style, class Classifier>
struct mobilenet_v2_of
    : sequential<
          named<"features", conv_norm_activation<32, 3, 2, 1, relu6, Style>,                     // 32x112x112
                inverted_residual<Style, 32, 16, 1, 1>,                                          //
                inverted_residual<Style, 16, 24, 2, 6>, inverted_residual<Style, 24, 24, 1, 6>,  // 24x56x56
                inverted_residual<Style, 24, 32, 2, 6>, repeat<2, inverted_residual<Style, 32, 32, 1, 6>>,  // 32x28x28
                inverted_residual<Style, 32, 64, 2, 6>, repeat<3, inverted_residual<Style, 64, 64, 1, 6>>,  // 64x14x14
                inverted_residual<Style, 64, 96, 1, 6>, repeat<2, inverted_residual<Style, 96, 96, 1, 6>>,  //
                inverted_residual<Style, 96, 160, 2, 6>,
                repeat<2, inverted_residual<Style, 160, 160, 1, 6>>,  // 160x7x7
                inverted_residual<Style, 160, 320, 1, 6>, conv_norm_activation<1280, 1, 1, 1, relu6, Style>>,  //
          global_avg_pool2d, flatten, Classifier, softmax> {};

/// MobileNetV2 (Sandler et al. 2018).
template <int Classes = 1000>
struct mobilenet_v2 : mobilenet_v2_of<torch_style<>, named<"classifier", dropout<0.2>, dense<Classes>>> {};

}  // namespace dsl::models
