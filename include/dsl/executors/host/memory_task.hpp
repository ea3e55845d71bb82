// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/operations/activation/task.hpp>
#include <dsl/operations/add/task.hpp>
#include <dsl/operations/channel_scale/task.hpp>
#include <dsl/operations/channel_shuffle/task.hpp>
#include <dsl/operations/channel_slice/task.hpp>
#include <dsl/operations/class_token/task.hpp>
#include <dsl/operations/embedding/task.hpp>
#include <dsl/operations/group_norm/task.hpp>
#include <dsl/operations/head_norm/task.hpp>
#include <dsl/operations/layer_norm/task.hpp>
#include <dsl/operations/local_response_norm/task.hpp>
#include <dsl/operations/merge_pixels/task.hpp>
#include <dsl/operations/multiply/task.hpp>
#include <dsl/operations/pool2d/task.hpp>
#include <dsl/operations/position_embedding/task.hpp>
#include <dsl/operations/softmax/task.hpp>
#include <dsl/operations/stochastic_depth/task.hpp>
#include <dsl/operations/token_slice/task.hpp>
#include <dsl/operations/transpose_tokens/task.hpp>
#include <dsl/operations/upsample2d/task.hpp>
#include <dsl/operations/zero_pad2d/task.hpp>

#include <utility>

namespace dsl::host::TYPENET_MODE {

/// Returns the function that makes tasks for an operation, or null if it has no kernels or is not in the set.
template <operation_set Only, class Place, op Kind>
constexpr auto maker_of() -> task (*)(Place&, bound_step<float> const&) {
  if constexpr (detail::has(Only, Kind) && requires { &step_task<Kind>::template make<Only, Place>; })
    return &step_task<Kind>::template make<Only, Place>;
  else
    return nullptr;
}
template <operation_set Only, class Place, int... Kinds>
task step_task_of(std::integer_sequence<int, Kinds...>, Place& at, bound_step<float> const& b) {
  static constexpr decltype(maker_of<Only, Place, op::input>()) makers[] = {
      maker_of<Only, Place, static_cast<op>(Kinds)>()...};
  auto const make = makers[static_cast<int>(b.node->kind)];
  return make ? make(at, b) : task{};
}

/// Returns the task of a step whose speed is limited by memory. It uses kernels that executors with channel blocks
/// share. The task is empty if only plain loops can run the step: for tensors that do not consist of whole blocks, and
/// for rare operations or those that are not in the set. When an update step runs, `update` calls a function with the
/// arrays of each part of the update; `normalization` returns the arguments of a batch_norm step.
template <operation_set Only = all_operations, class Place, class F, class G>
task memory_task(Place& at, bound_step<float> const& b, F update, G normalization) {
  action const what = b.step->what;
  if (what == action::update) return update_task(at, update);
  if (what == action::copy_forward || what == action::copy_backward || b.step->kind == op::transfer) {
    if (task copies = rows_task(at, b.to, b.accumulate, row_function::copy, b.x, b.x)) return copies;
    return b.step->kind == op::transfer ? task{} : channel_task(at, b);
  }
  if (!b.node || (what != action::forward && what != action::backward)) return {};
  if constexpr (detail::has(Only, op::batch_norm))
    if (b.node->kind == op::batch_norm) return batch_norm_task(at, normalization());
  return step_task_of<Only>(std::make_integer_sequence<int, sizeof operations::table / sizeof(operations::row)>{}, at,
                            b);
}

}  // namespace dsl::host::TYPENET_MODE
