// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/squeeze_excitation.hpp>

namespace dsl::models {

/// Returns a quarter of the channels, rounded to a multiple of 8 that is at least 8 and at least nine tenths of that
/// quarter. mobilenet_v3_squeezed(72) -> 24
constexpr int mobilenet_v3_squeezed(int channels) {
  int const quarter = channels / 4, rounded = (quarter + 4) / 8 * 8;
  int const most = rounded > 8 ? rounded : 8;
  return 10 * most < 9 * quarter ? most + 8 : most;
}

/// A 1x1 convolution to Expanded channels if that is more than Inputs, a depthwise one, squeeze-and-excitation if
/// Excites, and a 1x1 convolution to Filters.
template <class Style, int Inputs, int Kernel, int Expanded, int Filters, bool Excites, class Activation, int Stride>
struct mobilenet_v3_path;
template <class Style, int Inputs, int Kernel, int Expanded, int Filters, class Activation, int Stride>
struct mobilenet_v3_path<Style, Inputs, Kernel, Expanded, Filters, false, Activation, Stride>
    : named<"block", conv_norm_activation<Expanded, 1, 1, 1, Activation, Style>,
            conv_norm_activation<Expanded, Kernel, Stride, Expanded, Activation, Style>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};
template <class Style, int Inputs, int Kernel, int Expanded, int Filters, class Activation, int Stride>
struct mobilenet_v3_path<Style, Inputs, Kernel, Expanded, Filters, true, Activation, Stride>
    : named<"block", conv_norm_activation<Expanded, 1, 1, 1, Activation, Style>,
            conv_norm_activation<Expanded, Kernel, Stride, Expanded, Activation, Style>,
            squeeze_excitation<Expanded, mobilenet_v3_squeezed(Expanded), relu, hard_sigmoid>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};
template <class Style, int Inputs, int Kernel, int Filters, class Activation, int Stride>
struct mobilenet_v3_path<Style, Inputs, Kernel, Inputs, Filters, false, Activation, Stride>
    : named<"block", conv_norm_activation<Inputs, Kernel, Stride, Inputs, Activation, Style>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};
template <class Style, int Inputs, int Kernel, int Filters, class Activation, int Stride>
struct mobilenet_v3_path<Style, Inputs, Kernel, Inputs, Filters, true, Activation, Stride>
    : named<"block", conv_norm_activation<Inputs, Kernel, Stride, Inputs, Activation, Style>,
            squeeze_excitation<Inputs, mobilenet_v3_squeezed(Inputs), relu, hard_sigmoid>,
            conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};

/// A mobilenet_v3_path, with a shortcut if the path keeps the shape.
template <class Style, int Inputs, int Kernel, int Expanded, int Filters, bool Excites, class Activation,
          int Stride = 1>
struct mobilenet_v3_block
    : sequential<mobilenet_v3_path<Style, Inputs, Kernel, Expanded, Filters, Excites, Activation, Stride>> {};
template <class Style, int Filters, int Kernel, int Expanded, bool Excites, class Activation>
struct mobilenet_v3_block<Style, Filters, Kernel, Expanded, Filters, Excites, Activation, 1>
    : residual<mobilenet_v3_path<Style, Filters, Kernel, Expanded, Filters, Excites, Activation, 1>> {};

/// MobileNetV3 with the given body, in torch_style or keras_style, and the given classifier.
template <class Style, class Classifier, class... Features>
struct mobilenet_v3 : sequential<named<"features", conv_norm_activation<16, 3, 2, 1, hard_swish, Style>, Features...>,
                                 global_avg_pool2d, Classifier, softmax> {};

/// The large MobileNetV3.
template <class Style, class Classifier>
struct mobilenet_v3_large_of
    : mobilenet_v3<Style, Classifier,                                                         //
                   mobilenet_v3_block<Style, 16, 3, 16, 16, false, relu>,                     // 16x112x112
                   mobilenet_v3_block<Style, 16, 3, 64, 24, false, relu, 2>,                  // 24x56x56
                   mobilenet_v3_block<Style, 24, 3, 72, 24, false, relu>,                     //
                   mobilenet_v3_block<Style, 24, 5, 72, 40, true, relu, 2>,                   // 40x28x28
                   repeat<2, mobilenet_v3_block<Style, 40, 5, 120, 40, true, relu>>,          //
                   mobilenet_v3_block<Style, 40, 3, 240, 80, false, hard_swish, 2>,           // 80x14x14
                   mobilenet_v3_block<Style, 80, 3, 200, 80, false, hard_swish>,              //
                   repeat<2, mobilenet_v3_block<Style, 80, 3, 184, 80, false, hard_swish>>,   //
                   mobilenet_v3_block<Style, 80, 3, 480, 112, true, hard_swish>,              //
                   mobilenet_v3_block<Style, 112, 3, 672, 112, true, hard_swish>,             //
                   mobilenet_v3_block<Style, 112, 5, 672, 160, true, hard_swish, 2>,          // 160x7x7
                   repeat<2, mobilenet_v3_block<Style, 160, 5, 960, 160, true, hard_swish>>,  //
                   conv_norm_activation<960, 1, 1, 1, hard_swish, Style>> {};

/// The small MobileNetV3.
template <class Style, class Classifier>
struct mobilenet_v3_small_of : mobilenet_v3<Style, Classifier,                                              //
                                            mobilenet_v3_block<Style, 16, 3, 16, 16, true, relu, 2>,        // 16x56x56
                                            mobilenet_v3_block<Style, 16, 3, 72, 24, false, relu, 2>,       // 24x28x28
                                            mobilenet_v3_block<Style, 24, 3, 88, 24, false, relu>,          //
                                            mobilenet_v3_block<Style, 24, 5, 96, 40, true, hard_swish, 2>,  // 40x14x14
                                            repeat<2, mobilenet_v3_block<Style, 40, 5, 240, 40, true, hard_swish>>,  //
                                            mobilenet_v3_block<Style, 40, 5, 120, 48, true, hard_swish>,             //
                                            mobilenet_v3_block<Style, 48, 5, 144, 48, true, hard_swish>,             //
                                            mobilenet_v3_block<Style, 48, 5, 288, 96, true, hard_swish, 2>,  // 96x7x7
                                            repeat<2, mobilenet_v3_block<Style, 96, 5, 576, 96, true, hard_swish>>,  //
                                            conv_norm_activation<576, 1, 1, 1, hard_swish, Style>> {};

/// The classifier of torchvision's MobileNetV3, with a hidden dense layer.
template <int Classes, int Hidden>
struct mobilenet_v3_classifier
    : sequential<flatten, named<"classifier", dense<Hidden>, hard_swish, dropout<0.2>, dense<Classes>>> {};

/// MobileNetV3 (Howard et al. 2019).
template <int Classes = 1000>
struct mobilenet_v3_large
    : mobilenet_v3_large_of<torch_style<batch_norm<0.99, 1e-3>>, mobilenet_v3_classifier<Classes, 1280>> {};
template <int Classes = 1000>
struct mobilenet_v3_small
    : mobilenet_v3_small_of<torch_style<batch_norm<0.99, 1e-3>>, mobilenet_v3_classifier<Classes, 1024>> {};

}  // namespace dsl::models
