// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// In training zeroes a share Rate of the values and divides the others by 1 - Rate; does nothing in inference. The
/// random numbers depend on (seed, step, sample, layer) alone, so every executor and tower draws the same, and the
/// backward pass draws them again instead of storing a mask.
template <number Rate>
struct dropout {
  static constexpr value lower(builder& b, value in) {
    b.require(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
              {.broken = rule::dropout_rate_is_a_probability, .number = Rate});
    return b.append({.kind = op::dropout, .rate = Rate}, in, in.shape);
  }
};

}  // namespace dsl
