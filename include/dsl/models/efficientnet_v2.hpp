// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/efficientnet.hpp>

namespace dsl::models {

/// An mbconv_path with one convolution in place of the first two, and without squeeze-and-excitation.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, class Style>
struct fused_mbconv_path : named<"block", conv_norm_activation<Expansion * Inputs, Kernel, Stride, 1, silu, Style>,
                                 conv_norm_activation<Filters, 1, 1, 1, identity, Style>> {};
template <int Inputs, int Filters, int Kernel, int Stride, class Style>
struct fused_mbconv_path<Inputs, Filters, Kernel, Stride, 1, Style>
    : named<"block", numbered<conv_norm_activation<Filters, Kernel, Stride, 1, silu, Style>>> {};

/// A stage of Count fused paths with 3x3 kernels, the first of which changes the shape.
template <int Inputs, int Filters, int Stride, int Expansion, int Count>
struct fused_mbconv_stage : efficientnet_stage<fused_mbconv_path, Inputs, Filters, 3, Stride, Expansion, Count> {};

/// The style of EfficientNetV2 in torchvision.
using efficientnet_v2_style = torch_style<batch_norm<0.9, 1e-3>>;

/// EfficientNetV2 (Tan & Le 2021), whose first stages are fused.
template <int Classes = 1000, class Style = efficientnet_v2_style, number Dropout = 0.2>
struct efficientnet_v2_s : efficientnet_stages<Classes, Dropout, 24, 1280, Style,    //
                                               fused_mbconv_stage<24, 24, 1, 1, 2>,  //
                                               fused_mbconv_stage<24, 48, 2, 4, 4>,  //
                                               fused_mbconv_stage<48, 64, 2, 4, 4>,  //
                                               mbconv_stage<64, 128, 3, 2, 4, 6>,    //
                                               mbconv_stage<128, 160, 3, 1, 6, 9>,   //
                                               mbconv_stage<160, 256, 3, 2, 6, 15>> {};
template <int Classes = 1000, class Style = efficientnet_v2_style, number Dropout = 0.3>
struct efficientnet_v2_m : efficientnet_stages<Classes, Dropout, 24, 1280, Style,    //
                                               fused_mbconv_stage<24, 24, 1, 1, 3>,  //
                                               fused_mbconv_stage<24, 48, 2, 4, 5>,  //
                                               fused_mbconv_stage<48, 80, 2, 4, 5>,  //
                                               mbconv_stage<80, 160, 3, 2, 4, 7>,    //
                                               mbconv_stage<160, 176, 3, 1, 6, 14>,  //
                                               mbconv_stage<176, 304, 3, 2, 6, 18>,  //
                                               mbconv_stage<304, 512, 3, 1, 6, 5>> {};
template <int Classes = 1000, class Style = efficientnet_v2_style, number Dropout = 0.4>
struct efficientnet_v2_l : efficientnet_stages<Classes, Dropout, 32, 1280, Style,    //
                                               fused_mbconv_stage<32, 32, 1, 1, 4>,  //
                                               fused_mbconv_stage<32, 64, 2, 4, 7>,  //
                                               fused_mbconv_stage<64, 96, 2, 4, 7>,  //
                                               mbconv_stage<96, 192, 3, 2, 4, 10>,   //
                                               mbconv_stage<192, 224, 3, 1, 6, 19>,  //
                                               mbconv_stage<224, 384, 3, 2, 6, 25>,  //
                                               mbconv_stage<384, 640, 3, 1, 6, 7>> {};

}  // namespace dsl::models
