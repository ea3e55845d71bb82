// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

// Networks with multiply, channel_scale, stochastic_depth, softmax2d and all activations, on which engines are
// compared.

namespace dsl::test {

/// Operands of one pixel (squeeze-and-excitation), of one channel, of both, and of the same shape.
using multiplied_network =
    network<image<3, 8, 7>, conv2d<16, 3>, hard_swish,
            multiply<identity, sequential<global_avg_pool2d, conv2d<4, 1>, relu6, conv2d<16, 1>, hard_sigmoid>>,
            multiply<sequential<conv2d<1, 1>, sigmoid>, identity>, conv2d<7, 3>, gelu, multiply<conv2d<7, 1>, identity>,
            multiply<identity, sequential<global_avg_pool2d, conv2d<1, 1>, softplus>>, mish,
            residual<conv2d<7, 1>, channel_scale, stochastic_depth<0.25>>, gelu_tanh, flatten, dense<4>, softmax>;

/// A softmax over the channels of each pixel, with gradients through it.
using softmax_of_pixels = network<image<3, 6, 5>, conv2d<6, 3>, concat<softmax2d, sequential<softmax2d, conv2d<5, 1>>>,
                                  relu6, channel_scale, flatten, dense<4>, softmax>;

}  // namespace dsl::test
