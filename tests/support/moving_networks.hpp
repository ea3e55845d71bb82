// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

// Networks with layers that move numbers, and with learnt tokens, on which engines are compared.

namespace dsl::test {

/// zero_pad2d, channel_slice and channel_shuffle: of slices of a concat's buffer, of odd channels, and of tensors whose
/// gradients several branches add to.
using moving_network = network<image<3, 6, 5>, zero_pad2d<1, 0, 0, 2>, conv2d<16, 3>, relu,
                               concat<channel_slice<0, 8>, sequential<channel_slice<3, 7>, conv2d<8, 1>>,
                                      sequential<zero_pad2d<1>, max_pool2d<3, 1>>>,
                               channel_shuffle<4>, add<identity, channel_shuffle<2>>, zero_pad2d<1>, max_pool2d<2>,
                               channel_slice<2, 27>, channel_shuffle<3>, flatten, dense<4>, softmax>;

/// upsample2d with and without interpolation: into slices of a concat's buffer, from tensors that two branches read,
/// and around a skip, as in a U-Net.
using enlarging_network =
    network<image<3, 7, 6>, conv2d<8, 3>, silu, upsample2d<2>, conv2d<5, 3>,
            concat<identity, sequential<avg_pool2d<2>, conv2d<3, 1>, upsample2d<2, interpolation::bilinear>>,
                   sequential<avg_pool2d<2>, conv2d<8, 3>, upsample2d<2>>>,
            silu, add<upsample2d<3, interpolation::bilinear>, sequential<conv2d<16, 1>, upsample2d<3>>>, avg_pool2d<6>,
            flatten, dense<4>, softmax>;

/// class_token, position_embedding and token_slice, as in a vision transformer: of tensors whose gradients several
/// branches add to, and into slices of a concat's buffer.
using token_network = network<image<3, 8, 6>, conv2d<4, 3>, concat<avg_pool2d<2>, max_pool2d<2>>, pointwise_dense<16>,
                              class_token, position_embedding, residual<pointwise_dense<16>, silu>,
                              add<identity, position_embedding, sequential<pointwise_dense<16>, position_embedding>>,
                              concat<token_slice<0>, token_slice<12>, sequential<token_slice<2, 4>, global_avg_pool2d>>,
                              flatten, dense<4>, softmax>;
/// Has these operations with odd channels; the learnt token comes directly after the image.
using odd_token_network =
    network<image<5, 3, 3>, class_token, position_embedding, leaky_relu<>,
            concat<position_embedding, sequential<conv2d<5, 1>, position_embedding>>, flatten, dense<4>, softmax>;

/// Learnt tokens, most of which are frozen.
using frozen_tokens_network =
    network<image<5, 3, 3>, conv2d<8, 1>, frozen<class_token, position_embedding>,
            add<identity, frozen<position_embedding>>, silu, position_embedding, flatten, dense<4>, softmax>;

}  // namespace dsl::test
