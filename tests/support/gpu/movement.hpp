// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/agreement.hpp"
#include "support/moving_networks.hpp"

namespace dsl::test {

/// Trains networks with layers that move numbers, and with learnt tokens, beside the reference in double, and compares
/// the gradients of one step.
inline void check_movement(gpu const& on, ledger& l) {
  for (precision p : all_precisions) {
    check_agreement(on.untimed(), l, "pads and slices", moving_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "pads and slices", moving_network::view(), 4, {{p, bounds_of(p).gradient}});
    check_agreement(on.untimed(), l, "upsample2d", enlarging_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "upsample2d", enlarging_network::view(), 4, {{p, bounds_of(p).gradient}});
    check_agreement(on.untimed(), l, "tokens", token_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "tokens", token_network::view(), 4, {{p, bounds_of(p).gradient}});
    check_agreement(on.untimed(), l, "tokens, odd channels", odd_token_network::view(), keras_rules, 3, 3, p);
  }
}

}  // namespace dsl::test
