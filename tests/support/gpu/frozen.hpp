// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/behaviour.hpp"

// Networks with frozen layers.

namespace dsl::test {

/// Frozen layers before the first trained one, where a batch_norm is part of the convolution before it, and after it,
/// where gradients pass through them.
using frozen_network = network<image<3, 10, 9>, frozen<conv2d<8, 3>, batch_norm<>, relu, conv2d<16, 3>, relu>,
                               conv2d<8, 3>, frozen<batch_norm<>>, relu, frozen<conv2d<16, 3>>,
                               concat<frozen<batch_norm<>, relu>, sequential<conv2d<8, 1>, batch_norm<>, relu>>,
                               frozen<layer_norm<>>, global_avg_pool2d, flatten, dense<5>, softmax>;

/// Odd numbers of channels; a frozen batch_norm adds to a gradient, and others are not part of a convolution.
using odd_frozen_network =
    network<image<3, 6, 7>, frozen<batch_norm<>, conv2d<5, 3>, dropout<0.2>, batch_norm<>, relu>,
            conv2d<7, 3, bias<false>>,
            add<frozen<batch_norm<>, channel_scale>, identity, sequential<conv2d<7, 1>, batch_norm<>>>, leaky_relu<>,
            flatten, dense<64>, frozen<dense<64>, sigmoid>, dense<3>, softmax>;

/// Draws all frozen parameters, among them running variances from 0.6 to 1.5.
inline void draw_frozen(engine& e) {
  dsl::detail::random_stream random(8, dsl::detail::purpose::user, 0);
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    if (!p.frozen) continue;
    std::vector<float> values = parameter_of(e, k);
    for (float& x : values)
      x = p.role == role::moving_variance || p.role == role::gamma ? random.uniform(0.6F, 1.5F)
                                                                   : random.uniform(-0.3F, 0.3F);
    e.write_parameter(k, values.data());
  }
}

inline void check_frozen(gpu const& on, ledger& l) {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    check_agreement(on.untimed(), l, "frozen layers", frozen_network::view(), keras_rules, 4, 4, p, &draw_frozen);
    check_agreement(on.untimed(), l, "frozen layers, odd channels", odd_frozen_network::view(), torch_rules, 3, 4, p,
                    &draw_frozen);
  }
  check_agreement(on, l, "frozen layers, timed", frozen_network::view(), keras_rules, 4, 4, precision::bf16,
                  &draw_frozen);
}

}  // namespace dsl::test
