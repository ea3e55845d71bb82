// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/frozen.hpp"
#include "support/normed_networks.hpp"

namespace dsl::test {

/// Trains networks with normalisations within a sample beside the reference in double, and compares the gradients of
/// one step.
inline void check_norms(gpu const& on, ledger& l) {
  for (precision p : all_precisions) {
    check_agreement(on.untimed(), l, "layer_norm and group_norm", normed_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "layer_norm and group_norm", normed_network::view(), 4,
                    {{p, bounds_of(p).gradient}});
    check_agreement(on.untimed(), l, "local_response_norm", responding_network::view(), keras_rules, 4, 3, p);
    check_gradients(on.untimed(), l, "local_response_norm", responding_network::view(), 4,
                    {{p, bounds_of(p).gradient}});
    check_agreement(on.untimed(), l, "frozen normalisations", frozen_norms_network::view(), keras_rules, 4, 3, p,
                    &draw_frozen);
  }
}

}  // namespace dsl::test
