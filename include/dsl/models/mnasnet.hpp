// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

using mnasnet_norm = batch_norm<0.9997, 1e-5>;

template <int Inputs, int Filters, int Kernel, int Stride, int Expansion>
struct mnasnet_path
    : named<
          "layers", conv2d<Expansion * Inputs, 1, bias<false>>, mnasnet_norm, relu,
          conv2d<Expansion * Inputs, Kernel, stride<Stride>, pad<Kernel / 2>, groups<Expansion * Inputs>, bias<false>>,
          mnasnet_norm, relu, conv2d<Filters, 1, bias<false>>, mnasnet_norm> {};

/// A path that changes the shape, and Count - 1 that keep it, with shortcuts.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, int Count>
struct mnasnet_stack : numbered<sequential<mnasnet_path<Inputs, Filters, Kernel, Stride, Expansion>>,
                                repeat<Count - 1, residual<mnasnet_path<Filters, Filters, Kernel, 1, Expansion>>>> {};

/// MnasNet-B1 with width multiplier 1 (Tan et al. 2019).
template <int Classes = 1000>
struct mnasnet1_0 : sequential<named<"layers",                                                            //
                                     conv2d<32, 3, stride<2>, pad<1>, bias<false>>, mnasnet_norm, relu,   // 32x112x112
                                     conv2d<32, 3, pad<1>, groups<32>, bias<false>>, mnasnet_norm, relu,  //
                                     conv2d<16, 1, bias<false>>, mnasnet_norm,                            // 16x112x112
                                     mnasnet_stack<16, 24, 3, 2, 3, 3>,                                   // 24x56x56
                                     mnasnet_stack<24, 40, 5, 2, 3, 3>,                                   // 40x28x28
                                     mnasnet_stack<40, 80, 5, 2, 6, 3>,                                   // 80x14x14
                                     mnasnet_stack<80, 96, 3, 1, 6, 2>,                                   //
                                     mnasnet_stack<96, 192, 5, 2, 6, 4>,                                  // 192x7x7
                                     mnasnet_stack<192, 320, 3, 1, 6, 1>,                                 //
                                     conv2d<1280, 1, bias<false>>, mnasnet_norm, relu>,                   //
                               global_avg_pool2d, flatten, named<"classifier", dropout<0.2>, dense<Classes>>, softmax> {
};

}  // namespace dsl::models
