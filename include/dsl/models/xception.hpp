// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A separable convolution: 3x3 in each of Inputs channels, then 1x1 to Filters; and batch normalisation.
template <int Inputs, int Filters>
struct separable : sequential<conv2d<Inputs, 3, pad<1>, groups<Inputs>, bias<false>>, conv2d<Filters, 1, bias<false>>,
                              batch_norm<>> {};

/// Two separable convolutions to Middle and Filters channels, each after a ReLU if Begin is a ReLU, and a pool, with a
/// shortcut. Pad is the padding of Keras's pool for the input size of the published network.
template <class Begin, int Inputs, int Middle, int Filters, option::pad Pad>
struct xception_down
    : add<sequential<Begin, separable<Inputs, Middle>, relu, separable<Middle, Filters>, max_pool2d<3, 2, Pad>>,
          sequential<conv2d<Filters, 1, stride<2>, pad<0>, bias<false>>, batch_norm<>>> {};

/// Three separable convolutions with a shortcut.
struct xception_middle : residual<repeat<3, relu, separable<728, 728>>> {};

/// Xception (Chollet 2017) for images of 299x299, with the same number of parameters as keras.applications.Xception. A
/// SeparableConv2D of Keras is two convolutions here.
template <int Classes = 1000>
struct xception : sequential<conv2d<32, 3, stride<2>, padding::valid, bias<false>>, batch_norm<>, relu,  // 32x149x149
                             conv2d<64, 3, padding::valid, bias<false>>, batch_norm<>, relu,             // 64x147x147
                             xception_down<identity, 64, 128, 128, pad<1>>,                              // 128x74x74
                             xception_down<relu, 128, 256, 256, pad<0, 0, 1, 1>>,                        // 256x37x37
                             xception_down<relu, 256, 728, 728, pad<1>>,                                 // 728x19x19
                             repeat<8, xception_middle>,                                                 //
                             xception_down<relu, 728, 728, 1024, pad<1>>,                                // 1024x10x10
                             separable<1024, 1536>, relu, separable<1536, 2048>, relu, global_avg_pool2d, flatten,
                             dense<Classes>, softmax> {};

}  // namespace dsl::models
