// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

// Networks with normalisations within a sample, on which engines are compared.

namespace dsl::test {

/// layer_norm and group_norm: of slices of a concat's buffer, of odd channels, of flat numbers, and of tensors whose
/// gradients two branches add to.
using normed_network = network<
    image<3, 8, 7>, conv2d<8, 3>, group_norm<2>, silu,
    concat<sequential<conv2d<8, 1>, layer_norm<>>, sequential<conv2d<5, 3, bias<false>>, group_norm<5>>, identity>,
    silu, residual<layer_norm<>, conv2d<21, 3>>, residual<group_norm<1>, conv2d<21, 1>>, avg_pool2d<2, 2>, flatten,
    layer_norm<1e-3>, dense<4>, softmax>;

/// local_response_norm: of slices, with more neighbours than channels, and of a tensor whose gradient two branches add
/// to. Inputs are about 1, and alpha is large, so that the sums matter.
using responding_network =
    network<image<3, 8, 7>, conv2d<16, 3>, silu, local_response_norm<5, 0.5, 0.75, 2>,
            concat<sequential<conv2d<5, 3>, local_response_norm<3, 0.9>>, sequential<conv2d<8, 1>, silu>>,
            residual<local_response_norm<31, 2.0, 0.5>>, conv2d<7, 1>, local_response_norm<1>, avg_pool2d<2, 2>,
            flatten, dense<4>, softmax>;

/// All of these with frozen parameters, behind and before layers that are trained.
using frozen_norms_network =
    network<image<3, 8, 7>, frozen<conv2d<8, 3>, group_norm<2>>, silu, conv2d<18, 3>, frozen<layer_norm<>>,
            conv2d<8, 1>, frozen<local_response_norm<3, 0.9>, group_norm<2>>, conv2d<4, 3>, avg_pool2d<2, 2>, flatten,
            frozen<layer_norm<>>, dense<4>, softmax>;

}  // namespace dsl::test
