// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Dropout: in training it zeroes values with probability Rate and divides the others by 1 - Rate; in inference it does
/// nothing. The random numbers depend only on (seed, step, sample, layer), so every executor and tower draws the same
/// ones, and the backward pass draws them again instead of storing a mask.
template <number Rate>
struct dropout {
  static constexpr value lower(builder& b, value in) {
    b.require(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
              {.broken = rule::dropout_rate_is_a_probability, .number = Rate});
    return b.append({.kind = op::dropout, .rate = Rate}, in, in.shape);
  }
};

/// Stochastic depth (Huang et al. 2016): in training it sets each sample to zero with probability Rate and divides the
/// others by 1 - Rate; in inference it does nothing. As the last layer of a residual block, it skips the block for
/// those samples. The random numbers are drawn as for dropout.
template <number Rate>
struct stochastic_depth {
  static constexpr value lower(builder& b, value in) {
    b.require(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
              {.broken = rule::dropout_rate_is_a_probability, .number = Rate});
    return b.append({.kind = op::stochastic_depth, .rate = Rate}, in, in.shape);
  }
};

}  // namespace dsl
