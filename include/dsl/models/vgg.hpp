// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Count 3x3 convolutions, each followed by Norm, if given, and a ReLU.
template <int Count, int Filters, class... Norm>
using vgg_stage = repeat<Count, conv2d<Filters, 3, pad<1>>, Norm..., relu>;

/// VGG (Simonyan & Zisserman 2015): five stages and three dense layers. First, Second, ..., Fifth are the numbers of
/// convolutions of the stages. Norm is empty, or the batch_norm after each convolution.
template <int Classes, int First, int Second, int Third, int Fourth, int Fifth, class... Norm>
struct vgg
    : sequential<named<"features",                                      //
                       vgg_stage<First, 64, Norm...>, max_pool2d<2>,    // 64x112x112
                       vgg_stage<Second, 128, Norm...>, max_pool2d<2>,  // 128x56x56
                       vgg_stage<Third, 256, Norm...>, max_pool2d<2>,   // 256x28x28
                       vgg_stage<Fourth, 512, Norm...>, max_pool2d<2>,  // 512x14x14
                       vgg_stage<Fifth, 512, Norm...>, max_pool2d<2>>,  // 512x7x7
                 flatten, named<"classifier", repeat<2, dense<4096>, relu, dropout<0.5>>, dense<Classes>>, softmax> {};

/// VGG with 11 to 19 layers, with or without batch_norm, under torchvision's names.
template <int Classes = 1000>
struct vgg11 : vgg<Classes, 1, 1, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg13 : vgg<Classes, 2, 2, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg16 : vgg<Classes, 2, 2, 3, 3, 3> {};
template <int Classes = 1000>
struct vgg19 : vgg<Classes, 2, 2, 4, 4, 4> {};
template <int Classes = 1000>
struct vgg11_bn : vgg<Classes, 1, 1, 2, 2, 2, torch_norm> {};
template <int Classes = 1000>
struct vgg13_bn : vgg<Classes, 2, 2, 2, 2, 2, torch_norm> {};
template <int Classes = 1000>
struct vgg16_bn : vgg<Classes, 2, 2, 3, 3, 3, torch_norm> {};
template <int Classes = 1000>
struct vgg19_bn : vgg<Classes, 2, 2, 4, 4, 4, torch_norm> {};

}  // namespace dsl::models
