// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/optimizers.hpp>

#include "support/gpu/agreement.hpp"

// Networks whose parts have factors of the learning rate and of weight decay.

namespace dsl::test {

/// Four pairs of factors besides 1 and 1, of which one is nested and one is 0; the frozen layer has none.
using scaled_network =
    network<image<3, 9, 8>,
            scaled<factor::learning_rate<0.1>, conv2d<8, 3>, scaled<factor::weight_decay<3.0>, batch_norm<>>>, relu,
            scaled<factor::learning_rate<0.0>, conv2d<16, 3, 3, 2>>, batch_norm<>, relu, frozen<conv2d<8, 1>>,
            scaled<factor::weight_decay<0.0>, scaled<factor::learning_rate<2.5>, conv2d<5, 3>>>, dsl::tanh, flatten,
            dense<7>, dsl::tanh, scaled<factor::learning_rate<0.3>, dense<4>>, softmax>;

/// Layers with constants instead of learnt scales. Constants have gradients, which count for the norm of a clipped
/// gradient as on the CPU.
using constants_network =
    network<image<3, 9, 8>, conv2d<8, 3>, unscaled_batch_norm<>, relu,
            residual<conv2d<8, 3>, unscaled_batch_norm<>, relu, constant_scale<0.17>>, conv2d<5, 3, 3, 2>,
            scaled<factor::learning_rate<0.3>, unscaled_batch_norm<>>, dsl::tanh, flatten, dense<4>, softmax>;

inline void check_scaled(gpu const& on, ledger& l) {
  engine_options sgd_rules = keras_rules, adamw_rules = keras_rules;
  sgd_rules.update = {.momentum = 0.9, .weight_decay = 0.02, .nesterov = true};
  adamw_rules.update = adamw{.weight_decay = 0.1, .clip = {.norm = 0.5}}.rule();
  for (precision p : {precision::fp32_strict, precision::bf16})
    check_agreement(on.untimed(), l, "scaled layers, sgd", scaled_network::view(), sgd_rules, 6, 5, p);
  engine_options clipped = sgd_rules;
  clipped.update.clip.norm = 0.2;
  for (precision p : {precision::fp32_strict, precision::bf16})
    check_agreement(on.untimed(), l, "constants", constants_network::view(), clipped, 6, 5, p);
  check_gradients(on.untimed(), l, "constants", constants_network::view(), 6,
                  {{precision::fp32_strict, bounds_of(precision::fp32_strict).gradient}});
  // In bf16, gradients near 0 may have the other sign, and Adam then moves a parameter the other way.
  check_agreement(on.untimed(), l, "scaled layers, adamw", scaled_network::view(), adamw_rules, 6, 3,
                  precision::fp32_strict);
}

}  // namespace dsl::test
