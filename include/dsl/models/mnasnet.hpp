// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// The batch_norm of MnasNet.
using mnasnet_norm = batch_norm<0.9997, 1e-5>;

/// A 1x1 convolution to Expansion times Inputs channels, a depthwise one, and a 1x1 convolution to Filters.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion>
struct mnasnet_path
    : named<
          "layers", conv2d<Expansion * Inputs, 1, bias<false>>, mnasnet_norm, relu,
          conv2d<Expansion * Inputs, Kernel, stride<Stride>, pad<Kernel / 2>, groups<Expansion * Inputs>, bias<false>>,
          mnasnet_norm, relu, conv2d<Filters, 1, bias<false>>, mnasnet_norm> {};

/// One path that changes the shape, and Count - 1 paths with shortcuts that keep it.
template <int Inputs, int Filters, int Kernel, int Stride, int Expansion, int Count>
struct mnasnet_stack : numbered<sequential<mnasnet_path<Inputs, Filters, Kernel, Stride, Expansion>>,
                                repeat<Count - 1, residual<mnasnet_path<Filters, Filters, Kernel, 1, Expansion>>>> {};

/// MnasNet-B1 (Tan et al. 2019). Its first convolutions have Stem and Separable filters, its stacks First to Sixth.
template <int Classes, int Stem, int Separable, int First, int Second, int Third, int Fourth, int Fifth, int Sixth>
struct mnasnet : sequential<named<"layers",                                                                //
                                  conv2d<Stem, 3, stride<2>, pad<1>, bias<false>>, mnasnet_norm, relu,     // 112x112
                                  conv2d<Stem, 3, pad<1>, groups<Stem>, bias<false>>, mnasnet_norm, relu,  //
                                  conv2d<Separable, 1, bias<false>>, mnasnet_norm,                         //
                                  mnasnet_stack<Separable, First, 3, 2, 3, 3>,                             // 56x56
                                  mnasnet_stack<First, Second, 5, 2, 3, 3>,                                // 28x28
                                  mnasnet_stack<Second, Third, 5, 2, 6, 3>,                                // 14x14
                                  mnasnet_stack<Third, Fourth, 3, 1, 6, 2>,                                //
                                  mnasnet_stack<Fourth, Fifth, 5, 2, 6, 4>,                                // 7x7
                                  mnasnet_stack<Fifth, Sixth, 3, 1, 6, 1>,                                 //
                                  conv2d<1280, 1, bias<false>>, mnasnet_norm, relu>,                       //
                            global_avg_pool2d, flatten, named<"classifier", dropout<0.2>, dense<Classes>>, softmax> {};
/// MnasNet-B1 with width multiplier 1 (Tan et al. 2019).
template <int Classes = 1000>
struct mnasnet0_5 : mnasnet<Classes, 16, 8, 16, 24, 40, 48, 96, 160> {};
template <int Classes = 1000>
struct mnasnet0_75 : mnasnet<Classes, 24, 16, 24, 32, 64, 72, 144, 240> {};
template <int Classes = 1000>
struct mnasnet1_0 : mnasnet<Classes, 32, 16, 24, 40, 80, 96, 192, 320> {};
template <int Classes = 1000>
struct mnasnet1_3 : mnasnet<Classes, 40, 24, 32, 56, 104, 128, 248, 416> {};

}  // namespace dsl::models
