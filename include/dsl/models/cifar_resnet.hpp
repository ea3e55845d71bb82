// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/resnet.hpp>

namespace dsl::models {

/// ResNet for the images of CIFAR (He et al. 2016, section 4.2), with three stages of Blocks basic blocks. Shortcuts
/// that change the shape are 1x1 convolutions (option B of the paper, which used option A), and the weights are named
/// as in a ResNet of torchvision.
template <int Classes, int Blocks>
struct cifar_resnet : sequential<named<"conv1", conv2d<16, 3, pad<1>, bias<false>>>, named<"bn1", torch_norm>, relu,  //
                                 named<"layer1", repeat<Blocks, basic_block<16>>>,  // 16x32x32
                                 basic_stage<"layer2", Blocks, 32>,                 // 32x16x16
                                 basic_stage<"layer3", Blocks, 64>,                 // 64x8x8
                                 classifier<"fc", Classes>> {};

/// CIFAR's ResNets, named by their layers.
template <int Classes = 10>
struct cifar_resnet20 : cifar_resnet<Classes, 3> {};
template <int Classes = 10>
struct cifar_resnet32 : cifar_resnet<Classes, 5> {};
template <int Classes = 10>
struct cifar_resnet44 : cifar_resnet<Classes, 7> {};
template <int Classes = 10>
struct cifar_resnet56 : cifar_resnet<Classes, 9> {};

}  // namespace dsl::models
