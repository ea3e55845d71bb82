// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// A 3x3 convolution of each of Inputs channels and a 1x1 convolution to Filters. With a stride, padding is only at the
/// end, as in Keras.
template <int Inputs, int Filters, int Stride = 1>
struct mobilenet_block
    : sequential<conv2d<Inputs, 3, stride<Stride>, pad<2 - Stride, 2 - Stride, 1, 1>, groups<Inputs>, bias<false>>,
                 batch_norm<>, relu6, conv2d<Filters, 1, bias<false>>, batch_norm<>, relu6> {};

/// MobileNet (Howard et al. 2017), with the same layers as keras.applications.MobileNet. load_keras_h5 reads the
/// weights that Keras has saved.
template <int Classes = 1000>
struct mobilenet
    : sequential<conv2d<32, 3, stride<2>, padding::same, bias<false>>, batch_norm<>, relu6,  // 32x112x112
                 mobilenet_block<32, 64>, mobilenet_block<64, 128, 2>,                       // 128x56x56
                 mobilenet_block<128, 128>, mobilenet_block<128, 256, 2>,                    // 256x28x28
                 mobilenet_block<256, 256>, mobilenet_block<256, 512, 2>,                    // 512x14x14
                 repeat<5, mobilenet_block<512, 512>>, mobilenet_block<512, 1024, 2>,        // 1024x7x7
                 mobilenet_block<1024, 1024>, global_avg_pool2d, dropout<0.001>, conv2d<Classes, 1>, flatten, softmax> {
};

}  // namespace dsl::models
