// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

// Networks with layers that only move numbers, on which engines are compared.

namespace dsl::test {

/// zero_pad2d, channel_slice and channel_shuffle: of slices of a concat's buffer, of odd channels, and of tensors whose
/// gradients several branches add to.
using moving_network = network<image<3, 6, 5>, zero_pad2d<1, 0, 0, 2>, conv2d<16, 3>, relu,
                               concat<channel_slice<0, 8>, sequential<channel_slice<3, 7>, conv2d<8, 1>>,
                                      sequential<zero_pad2d<1>, max_pool2d<3, 1>>>,
                               channel_shuffle<4>, add<identity, channel_shuffle<2>>, zero_pad2d<1>, max_pool2d<2>,
                               channel_slice<2, 27>, channel_shuffle<3>, flatten, dense<4>, softmax>;

}  // namespace dsl::test
