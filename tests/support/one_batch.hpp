// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/engine.hpp>

#include <cstdint>

namespace dsl::test {

/// A batch of one input, with one target that all outputs share: e.run(program, one_batch{x, {.labels = labels}, 3}).
/// The view is valid as long as this object.
struct one_batch {
  float const* input = nullptr;
  target_view target{};
  int size = 0;
  std::uint64_t step = 0;
  double learning_rate = 0;
  std::uint64_t staged = 0;

  operator batch_view() const {  // NOLINT(google-explicit-constructor): engines take views
    return {.inputs = {&input, 1},
            .targets = {&target, 1},
            .size = size,
            .step = step,
            .learning_rate = learning_rate,
            .staged = staged};
  }
};

}  // namespace dsl::test
