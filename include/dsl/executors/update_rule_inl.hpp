// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/update_rule.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE update_numbers update_rule::at(double learning_rate, std::uint64_t step) const {
  update_numbers n{.rate = learning_rate, .epsilon = epsilon};
  if (decoupled) n.shrink = learning_rate * weight_decay;
  if (method != update_method::adam) return n;
  double const root = detail::sqrt(1 - power(second_decay, step + 1));
  n.rate = learning_rate * root / (1 - power(first_decay, step + 1));
  // m / (sqrt(v) / root + epsilon), with numerator and denominator multiplied by root
  if (where == epsilon_place::beside_corrected_root) n.epsilon = epsilon * root;
  return n;
}

TYPENET_INLINE double update_rule::scale_for(double squares) const {
  double const scale = clip.norm / (detail::sqrt(squares) + clip.norm_epsilon);
  return scale > 1 ? 1 : scale;  // NaN stays NaN
}

}  // namespace dsl::TYPENET_MODE
