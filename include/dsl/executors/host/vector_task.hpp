// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operations.hpp>
#include <dsl/graph/operation_set.hpp>

namespace dsl::host::TYPENET_MODE {

/// Returns the task of a step whose speed is limited by memory. It uses kernels that executors with channel blocks
/// share. The task is empty if only plain loops can run the step: for tensors that do not consist of whole blocks, and
/// for rare operations or those that are not in the set. When an update step runs, `update` calls a function with the
/// arrays of each part of the update; `normalization` returns the arguments of a batch_norm step.
template <operation_set Only = all_operations, class Device, class F, class G>
task vector_task(Device& at, bound_step<float> const& b, F update, G normalization) {
  action const what = b.step->what;
  if (what == action::update) return update_task(at, update);
  if (what == action::copy_forward || what == action::copy_backward || b.step->kind == op::transfer) {
    if (task copies = rows_task(at, b.to, b.accumulate, row_function::copy, b.x, b.x)) return copies;
    return b.step->kind == op::transfer ? task{} : channel_task(at, b);
  }
  if (!b.node || (what != action::forward && what != action::backward)) return {};
  if constexpr (detail::has(Only, op::batch_norm))
    if (b.node->kind == op::batch_norm) return batch_norm_task(at, normalization());
  return step_task_of<Only>(std::make_integer_sequence<int, operations::count>{}, at, b);
}

}  // namespace dsl::host::TYPENET_MODE
