// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/agreement.hpp"
#include "support/product_networks.hpp"

namespace dsl::test {

/// Trains networks with products and all activations beside the reference in double, and compares the gradients of one
/// step.
inline void check_products(gpu const& on, ledger& l) {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    check_agreement(on.untimed(), l, "products", multiplied_network::view(), keras_rules, 4, 3, p);
    check_agreement(on.untimed(), l, "softmax of pixels", softmax_of_pixels::view(), torch_rules, 3, 3, p);
  }
  check_gradients(on.untimed(), l, "products", multiplied_network::view(), 4,
                  {{precision::fp32_strict, bounds_of(precision::fp32_strict).gradient}});
}

}  // namespace dsl::test
