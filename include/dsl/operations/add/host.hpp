// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

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

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::add> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& b) {
    if (b.node->inputs != 2) return {};
    return rows_task(at, b.to, b.accumulate, row_function::sum, b.x, b.x2);
  }
};

}  // namespace dsl::host::TYPENET_MODE
