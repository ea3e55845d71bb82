// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::add> {
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& b) {
    if (b.node->inputs != 2) return {};
    return rows_task(at, b.to, b.accumulate, row_function::sum, b.x, b.x2);
  }
};

}  // namespace dsl::host::TYPENET_MODE
