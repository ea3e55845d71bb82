// SPDX-License-Identifier: MIT
#include "support/budgets.hpp"
#include "support/catch.hpp"

#include <dsl/executors/onednn.hpp>

using namespace dsl;
using namespace dsl::test;

TEST_CASE("onednn gives the same bits within a budget", "[budget]") {
  using mini = network<image<3, 32, 32>, minigooglenet<10>>;
  CHECK(same_bits(trained<mini>(onednn{}, 16, 2), trained<within<16, 46'000'000, mini>>(onednn{}, 16, 2)));
  CHECK(same_bits(trained<varied>(onednn{}, 8, 3), trained<within<8, 2'250'000, varied>>(onednn{}, 8, 3)));
}
