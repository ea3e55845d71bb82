// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/agreement.hpp"

// Networks whose pools have padding, ceil_mode, or different strides for rows and columns.

namespace dsl::test {

using padded_pools = network<image<3, 13, 10>, conv2d<8, 3>, batch_norm<>, relu, max_pool2d<3, 2, pad<1>>,
                             concat<max_pool2d<3, 1, pad<1>>, avg_pool2d<3, 1, pad<1>>, conv2d<16, 1>>,
                             avg_pool2d<kernel<3, 2>, stride<2, 1>, pad<2, 0, 1, 1>>, max_pool2d<2, ceil_mode>, flatten,
                             dense<5>, softmax>;

/// Odd numbers of channels, and several branches that add to one gradient.
using odd_padded_pools =
    network<image<3, 9, 12>, conv2d<5, 3>, dsl::tanh,
            add<max_pool2d<3, 1, pad<1>>, avg_pool2d<3, 1, pad<1>, count_padding<false>>, identity>,
            max_pool2d<kernel<2, 3>, stride<1, 2>, pad<0, 2, 1, 0>>,
            concat<conv2d<3, 1>, avg_pool2d<kernel<1, 3>, stride<1>, pad<0, 1>>>,
            avg_pool2d<kernel<4, 3>, stride<3, 2>, pad<1>, count_padding<false>, ceil_mode>, flatten, dense<4>,
            softmax>;

inline void check_pools(gpu const& on, ledger& l) {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    check_agreement(on.untimed(), l, "padded pools", padded_pools::view(), keras_rules, 4, 4, p);
    check_agreement(on.untimed(), l, "padded pools, odd channels", odd_padded_pools::view(), torch_rules, 3, 4, p);
  }
}

}  // namespace dsl::test
