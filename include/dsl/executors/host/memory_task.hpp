// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm.hpp>
#include <dsl/executors/host/channel_scale_task.hpp>
#include <dsl/executors/host/group_norm_task.hpp>
#include <dsl/executors/host/head_norm_task.hpp>
#include <dsl/executors/host/layer_norm_task.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/multiply_task.hpp>
#include <dsl/executors/host/pixel_task.hpp>
#include <dsl/executors/host/resize_task.hpp>
#include <dsl/executors/host/token_tasks.hpp>

#include <utility>

namespace dsl::host::TYPENET_MODE {

/// Returns the task of a step whose speed is limited by memory. It uses kernels that executors with channel blocks
/// share. The task is empty if only plain loops can run the step: for tensors that do not consist of whole blocks, and
/// for rare operations. When an update step runs, `update` calls a function with the arrays of each part of the update;
/// `normalization` returns the arguments of a batch_norm step.
template <class Place, class F, class G>
[[gnu::cold]] task memory_task(Place& at, bound_step<float> const& b, F update, G normalization) {
  action const what = b.step->what;
  bool const forward = what == action::forward;
  auto const rows = [&](row_function f, view<float const> const& second) {
    return rows_task(at, b.to, b.accumulate, f, b.x, second);
  };
  if (what == action::update) return update_task(at, update);
  if (what == action::copy_forward || what == action::copy_backward || b.step->kind == op::transfer) {
    return rows(row_function::copy, b.x);
  }
  if (!b.node || (!forward && what != action::backward)) return {};
  switch (b.node->kind) {
    case op::batch_norm: return batch_norm_task(at, normalization());
    case op::activation:
      if (b.node->function != function::relu) return activation_task(at, b);
      return forward ? rows(row_function::relu, b.x) : rows(row_function::relu_backward, b.dy);
    case op::add: return b.node->inputs == 2 ? rows(row_function::sum, b.x2) : task{};
    case op::multiply: return multiply_task(at, b);
    case op::layer_norm: return layer_norm_task(at, b);
    case op::head_norm: return head_norm_task(at, b);
    case op::group_norm: return group_norm_task(at, b);
    case op::local_response_norm: return local_response_task(at, b);
    case op::softmax: return channel_softmax_task(at, b);
    case op::channel_scale: return channel_scale_task(at, b);
    case op::upsample_nearest:
    case op::upsample_bilinear: return resize_task(at, b);
    case op::max_pool2d:
    case op::avg_pool2d: return pool_task(at, b);
    case op::merge_pixels:
    case op::class_token:
    case op::position_embedding:
    case op::token_slice: return token_task(at, b);
    default: return {};
  }
}

}  // namespace dsl::host::TYPENET_MODE
