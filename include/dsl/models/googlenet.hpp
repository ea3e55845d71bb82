// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named_output.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A convolution without bias, batch normalisation and ReLU.
template <int Filters, auto... Options>
struct basic_conv2d
    : sequential<named<"conv", conv2d<Filters, Options..., bias<false>>>, named<"bn", batch_norm<0.9, 1e-3>>, relu> {};

/// Four branches: 1x1; 1x1 and 3x3, twice; pool and 1x1. The third branch has a 3x3 kernel instead of the paper's 5x5,
/// as in torchvision.
template <int First, int Second1x1, int Second, int Third1x1, int Third, int Fourth>
struct googlenet_inception : concat<named<"branch1", basic_conv2d<First, 1>>,
                                    named<"branch2", basic_conv2d<Second1x1, 1>, basic_conv2d<Second, 3, pad<1>>>,
                                    named<"branch3", basic_conv2d<Third1x1, 1>, basic_conv2d<Third, 3, pad<1>>>,
                                    named<"branch4", max_pool2d<3, 1, pad<1>, ceil_mode>, basic_conv2d<Fourth, 1>>> {};

/// GoogLeNet with two layers that come after inception4a and inception4d.
template <int Classes, class After4a, class After4d>
struct googlenet_around
    : sequential<named<"conv1", basic_conv2d<64, 7, stride<2>, pad<3>>>, max_pool2d<3, 2, ceil_mode>,  //
                 named<"conv2", basic_conv2d<64, 1>>,                                                  //
                 named<"conv3", basic_conv2d<192, 3, pad<1>>>, max_pool2d<3, 2, ceil_mode>,            // 192x28x28
                 named<"inception3a", googlenet_inception<64, 96, 128, 16, 32, 32>>,                   //
                 named<"inception3b", googlenet_inception<128, 128, 192, 32, 96, 64>>,                 //
                 max_pool2d<3, 2, ceil_mode>,                                                          // 480x14x14
                 named<"inception4a", googlenet_inception<192, 96, 208, 16, 48, 64>>, After4a,         // 512x14x14
                 named<"inception4b", googlenet_inception<160, 112, 224, 24, 64, 64>>,                 //
                 named<"inception4c", googlenet_inception<128, 128, 256, 24, 64, 64>>,                 //
                 named<"inception4d", googlenet_inception<112, 144, 288, 32, 64, 64>>, After4d,        // 528x14x14
                 named<"inception4e", googlenet_inception<256, 160, 320, 32, 128, 128>>,               //
                 max_pool2d<2, 2, ceil_mode>,                                                          // 832x7x7
                 named<"inception5a", googlenet_inception<256, 160, 320, 32, 128, 128>>,               //
                 named<"inception5b", googlenet_inception<384, 192, 384, 48, 128, 128>>,               // 1024x7x7
                 global_avg_pool2d, flatten, dropout<0.2>, named<"fc", dense<Classes>>, softmax> {};

/// GoogLeNet (Szegedy et al. 2015) with batch_norm and without the auxiliary classifiers. torchvision's pretrained
/// model also rescales the channels of images if transform_input is set.
template <int Classes = 1000>
struct googlenet : googlenet_around<Classes, identity, identity> {};

/// An auxiliary classifier of GoogLeNet. Its pool is the paper's, 5x5 with stride 3; torchvision's is adaptive, with
/// windows of 4x4 that overlap unequally.
template <label Name, int Classes>
struct googlenet_head
    : named_output<Name, avg_pool2d<5, 3>, named<"conv", basic_conv2d<128, 1>>, flatten, named<"fc1", dense<1024>>,
                   relu, dropout<0.7>, named<"fc2", dense<Classes>>, softmax> {};

/// GoogLeNet with its auxiliary classifiers, the outputs aux1 and aux2, for training; the paper weights their losses by
/// 0.3. To predict, load the trained weights into googlenet<...>, with .strict = false.
template <int Classes = 1000>
struct googlenet_aux : googlenet_around<Classes, googlenet_head<"aux1", Classes>, googlenet_head<"aux2", Classes>> {};

}  // namespace dsl::models
