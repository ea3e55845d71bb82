// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/annealing.hpp>
#include <dsl/training/schedules.hpp>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE double step_decay::operator()(int epoch) const {
  if (every < 1) throw option_error(detail::message({"step_decay: .every must be 1 or more; found ", every}));
  int const drops = epoch / every;
  return base * detail::pow(factor, drops);
}

TYPENET_INLINE double cosine_decay::operator()(schedule_point const& at) const {
  double const done = static_cast<double>(at.steps_before()) / static_cast<double>(at.all_steps());
  return end + (base - end) * 0.5 * (1 + detail::cos(3.14159265358979323846 * done));
}

TYPENET_INLINE double one_cycle::operator()(schedule_point const& at) const {
  bool const rises = rise >= 0 && rise <= 1, divides = start_divisor > 0 && end_divisor > 0;
  if (!rises) detail::throw_error<option_error>({"one_cycle: rise must be 0 to 1; found ", rise});
  if (!divides)
    detail::throw_error<option_error>(
        {"one_cycle: start_divisor and end_divisor must be above 0; found ", start_divisor, " and ", end_divisor});
  double const first = max_rate / start_divisor, last = first / end_divisor;
  auto const step = static_cast<double>(at.steps_before()), all = static_cast<double>(at.all_steps());
  double const top = rise * all - 1;  // below 0 for short rises, as in PyTorch
  if (step <= top) return between(first, max_rate, top > 0 ? step / top : 1);
  return between(max_rate, last, (step - top) / (all - 1 - top));
}

TYPENET_INLINE double one_cycle::between(double a, double b, double share) {
  return b + (a - b) * 0.5 * (1 + detail::cos(3.14159265358979323846 * share));
}

}  // namespace dsl::TYPENET_MODE
