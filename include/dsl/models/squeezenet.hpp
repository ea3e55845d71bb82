// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A 1x1 convolution that reduces the channels, and a 1x1 and a 3x3 one that expand them.
template <int Squeezed, int Expanded>
struct fire : sequential<named<"squeeze", conv2d<Squeezed, 1>>, relu,
                         concat<sequential<named<"expand1x1", conv2d<Expanded, 1>>, relu>,
                                sequential<named<"expand3x3", conv2d<Expanded, 3, pad<1>>>, relu>>> {};

/// SqueezeNet with the given body and a convolution as classifier.
template <int Classes, class... Features>
struct squeezenet
    : sequential<named<"features", Features...>,
                 named<"classifier", dropout<0.5>, conv2d<Classes, 1>, relu, global_avg_pool2d>, flatten, softmax> {};

/// SqueezeNet (Iandola et al. 2016).
template <int Classes = 1000>
struct squeezenet1_0
    : squeezenet<Classes,                                                                              //
                 conv2d<96, 7, stride<2>, pad<0>>, relu, max_pool2d<3, 2, ceil_mode>,                  // 96x54x54
                 repeat<2, fire<16, 64>>, fire<32, 128>, max_pool2d<3, 2, ceil_mode>,                  // 256x27x27
                 fire<32, 128>, repeat<2, fire<48, 192>>, fire<64, 256>, max_pool2d<3, 2, ceil_mode>,  // 512x13x13
                 fire<64, 256>> {};

/// SqueezeNet with fewer multiply-adds.
template <int Classes = 1000>
struct squeezenet1_1 : squeezenet<Classes,                                                              //
                                  conv2d<64, 3, stride<2>, pad<0>>, relu, max_pool2d<3, 2, ceil_mode>,  // 64x55x55
                                  repeat<2, fire<16, 64>>, max_pool2d<3, 2, ceil_mode>,                 // 128x27x27
                                  repeat<2, fire<32, 128>>, max_pool2d<3, 2, ceil_mode>,                // 256x13x13
                                  repeat<2, fire<48, 192>>, repeat<2, fire<64, 256>>> {};               // 512x13x13

}  // namespace dsl::models
