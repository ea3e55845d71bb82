// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/communicator.hpp>

namespace dsl_test {

/// Gives different results for different ranks, heads and numbers, and for different orders of them.
struct chained final : dsl::rank_fold {
  int ranks;
  explicit chained(int count) : ranks(count) {}
  double operator()(long long i, double const* heads, double const* values) const override {
    double value = static_cast<double>(i);
    for (int r = 0; r < ranks; ++r) value = heads[r] * value + values[r];
    return value;
  }
};

}  // namespace dsl_test
