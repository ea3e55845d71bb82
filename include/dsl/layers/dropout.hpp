// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Dropout. In training, it zeroes each value with probability Rate and divides the other values by 1 - Rate; in
/// inference, it does nothing. The random numbers depend only on (seed, step, sample, layer), so every executor and
/// tower draws the same numbers, and the backward pass draws them again instead of reading a stored mask.
template <number Rate>
struct dropout {
  static constexpr value lower(builder& b, value in) {
    b.require(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
              {.broken = rule::dropout_rate_is_a_probability, .number = Rate});
    return b.append({.kind = op::dropout, .rate = Rate}, in, in.shape);
  }
};

/// Stochastic depth (Huang et al. 2016). In training, it sets each sample to zero with probability Rate and divides the
/// other samples by 1 - Rate; in inference, it does nothing. If it is the last layer of a residual block, samples that
/// are set to zero skip the block. The random numbers are drawn as for dropout.
template <number Rate>
struct stochastic_depth {
  static constexpr value lower(builder& b, value in) {
    b.require(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
              {.broken = rule::dropout_rate_is_a_probability, .number = Rate});
    return b.append({.kind = op::stochastic_depth, .rate = Rate}, in, in.shape);
  }
};

}  // namespace dsl
