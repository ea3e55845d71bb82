// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Adds one operand after the other, so that the order of rounding does not depend on the number of operands.
template <class T>
void add_forward(host::bound_step<T> const& b, step_context const&) {
  copy(b.x, b.to, false);
  copy(b.x2, b.to, true);
  for (view<T const> const& x : b.more) copy(x, b.to, true);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::add>{.forward = add_forward<T>, .parts = parts_of::channels};

}  // namespace dsl::plain::TYPENET_MODE
