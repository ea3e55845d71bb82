// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/agreement.hpp"
#include "support/moving_networks.hpp"

namespace dsl::test {

/// Trains networks with layers that only move numbers beside the reference in double, and compares the gradients of one
/// step.
inline void check_movement(gpu const& on, ledger& l) {
  for (precision p : all_precisions) {
    check_agreement(on.untimed(), l, "pads and slices", moving_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "pads and slices", moving_network::view(), 4, {{p, bounds_of(p).gradient}});
  }
}

}  // namespace dsl::test
