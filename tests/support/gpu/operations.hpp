// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "operations/all.hpp"
#include "support/gpu/agreement.hpp"

namespace dsl::test {

/// Trains networks with the operations that have a fixture beside the reference in double, and compares the gradients
/// of one step.
inline void check_operations(gpu const& on, ledger& l) {
  for_each_body<8>([&]<op Kind, class Body>(int number) {
    [&]<class... Layers>(types<Layers...>) {
      using net = network<image<3, 4, 3>, conv2d<8, 3>, silu, Layers..., silu, flatten, dense<4>, softmax>;
      std::string const name = operations::table[static_cast<int>(Kind)].name + std::to_string(number);
      for (precision p : all_precisions) {
        check_agreement(on.untimed(), l, name, net::view(), keras_rules, 4, 3, p);
        check_gradients(on.untimed(), l, name, net::view(), 4, {{p, bounds_of(p).gradient}});
      }
    }(Body{});
  });
}

}  // namespace dsl::test
