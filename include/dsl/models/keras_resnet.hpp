// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/zero_pad2d.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models::keras {

/// The batch_norm of Keras's ResNets and DenseNets.
using resnet_norm = batch_norm<0.99, 1.001e-5>;

/// A 1x1 convolution with the stride, a 3x3 and a 1x1 one, each with a bias, and a shortcut. In torchvision, the 3x3
/// convolution has the stride.
template <int Width, int Stride, class Shortcut>
struct resnet_block : sequential<add<Shortcut, sequential<conv2d<Width, 1, stride<Stride>, pad<0>>, resnet_norm, relu,
                                                          conv2d<Width, 3>, resnet_norm, relu,  //
                                                          conv2d<4 * Width, 1>, resnet_norm>>,
                                 relu> {};

/// A stage of Count blocks, the first of which changes the shape.
template <int Width, int Count, int Stride>
struct resnet_stage
    : sequential<resnet_block<Width, Stride, sequential<conv2d<4 * Width, 1, stride<Stride>, pad<0>>, resnet_norm>>,
                 repeat<Count - 1, resnet_block<Width, 1, identity>>> {};

/// ResNet (He et al. 2016); First to Fourth are the numbers of blocks in its stages.
template <int Classes, int First, int Second, int Third, int Fourth>
struct resnet : sequential<conv2d<64, 7, stride<2>, pad<3>>, resnet_norm, relu, max_pool2d<3, 2, pad<1>>,  // 64x56x56
                           resnet_stage<64, First, 1>,                                                     // 256x56x56
                           resnet_stage<128, Second, 2>,                                                   // 512x28x28
                           resnet_stage<256, Third, 2>,                                                    // 1024x14x14
                           resnet_stage<512, Fourth, 2>,                                                   // 2048x7x7
                           global_avg_pool2d, flatten, dense<Classes>, softmax> {};

/// Three convolutions, of which the 3x3 one has the stride, before the sum of a ResNetV2's block.
template <int Width, int Stride>
struct resnet_v2_path
    : sequential<conv2d<Width, 1, bias<false>>, resnet_norm, relu,
                 conv2d<Width, 3, stride<Stride>, pad<1>, bias<false>>, resnet_norm, relu, conv2d<4 * Width, 1>> {};

/// A stage of Count blocks. The first one changes the number of channels, and the last one has the stride.
template <int Width, int Count, int Stride>
struct resnet_v2_stage
    : sequential<resnet_norm, relu, add<conv2d<4 * Width, 1>, resnet_v2_path<Width, 1>>,
                 repeat<Count - 2, residual<resnet_norm, relu, resnet_v2_path<Width, 1>>>,
                 add<max_pool2d<1, Stride>, sequential<resnet_norm, relu, resnet_v2_path<Width, Stride>>>> {};
template <int Width, int Count>
struct resnet_v2_stage<Width, Count, 1>
    : sequential<resnet_norm, relu, add<conv2d<4 * Width, 1>, resnet_v2_path<Width, 1>>,
                 repeat<Count - 1, residual<resnet_norm, relu, resnet_v2_path<Width, 1>>>> {};

/// ResNetV2 (He et al. 2016), which normalises before its convolutions. Its first pool reads numbers below 0, so that
/// zeros around the image can be the maximum.
template <int Classes, int First, int Second, int Third, int Fourth>
struct resnet_v2 : sequential<conv2d<64, 7, stride<2>, pad<3>>, zero_pad2d<1>, max_pool2d<3, 2>,  // 64x56x56
                              resnet_v2_stage<64, First, 2>,                                      // 256x28x28
                              resnet_v2_stage<128, Second, 2>,                                    // 512x14x14
                              resnet_v2_stage<256, Third, 2>,                                     // 1024x7x7
                              resnet_v2_stage<512, Fourth, 1>,                                    // 2048x7x7
                              resnet_norm, relu, global_avg_pool2d, flatten, dense<Classes>, softmax> {};

/// ResNet and ResNetV2 (He et al. 2016), under Keras's names.
template <int Classes = 1000>
struct resnet50 : resnet<Classes, 3, 4, 6, 3> {};
template <int Classes = 1000>
struct resnet101 : resnet<Classes, 3, 4, 23, 3> {};
template <int Classes = 1000>
struct resnet152 : resnet<Classes, 3, 8, 36, 3> {};
template <int Classes = 1000>
struct resnet50_v2 : resnet_v2<Classes, 3, 4, 6, 3> {};
template <int Classes = 1000>
struct resnet101_v2 : resnet_v2<Classes, 3, 4, 23, 3> {};
template <int Classes = 1000>
struct resnet152_v2 : resnet_v2<Classes, 3, 8, 36, 3> {};

}  // namespace dsl::models::keras
