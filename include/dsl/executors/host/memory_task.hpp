// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm.hpp>
#include <dsl/executors/host/channel_scale_task.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/embedding_task.hpp>
#include <dsl/executors/host/group_norm_task.hpp>
#include <dsl/executors/host/head_norm_task.hpp>
#include <dsl/executors/host/layer_norm_task.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/multiply_task.hpp>
#include <dsl/executors/host/pixel_task.hpp>
#include <dsl/executors/host/resize_task.hpp>
#include <dsl/executors/host/token_tasks.hpp>
#include <dsl/executors/host/zero_pad_task.hpp>
#include <dsl/graph/operation_set.hpp>

#include <utility>

namespace dsl::host::TYPENET_MODE {

/// Returns the task of a step whose speed is limited by memory. It uses kernels that executors with channel blocks
/// share. The task is empty if only plain loops can run the step: for tensors that do not consist of whole blocks, and
/// for rare operations or those that are not in the set. When an update step runs, `update` calls a function with the
/// arrays of each part of the update; `normalization` returns the arguments of a batch_norm step.
template <operation_set Only = all_operations, class Place, class F, class G>
task memory_task(Place& at, bound_step<float> const& b, F update, G normalization) {
  action const what = b.step->what;
  bool const forward = what == action::forward;
  auto const rows = [&](row_function f, view<float const> const& second) {
    return rows_task(at, b.to, b.accumulate, f, b.x, second);
  };
  if (what == action::update) return update_task(at, update);
  if (what == action::copy_forward || what == action::copy_backward || b.step->kind == op::transfer) {
    if (task copies = rows(row_function::copy, b.x)) return copies;
    return b.step->kind == op::transfer ? task{} : channel_task(at, b);
  }
  if (!b.node || (!forward && what != action::backward)) return {};
  op const kind = b.node->kind;
  if constexpr (detail::has(Only, op::batch_norm))
    if (kind == op::batch_norm) return batch_norm_task(at, normalization());
  if constexpr ((Only & detail::functions_but_relu) != 0)
    if (kind == op::activation && b.node->function != function::relu) return activation_task(at, b);
  if (kind == op::activation) return forward ? rows(row_function::relu, b.x) : rows(row_function::relu_backward, b.dy);
  if (kind == op::add) return b.node->inputs == 2 ? rows(row_function::sum, b.x2) : task{};
  if constexpr (detail::has(Only, op::multiply))
    if (kind == op::multiply) return multiply_task(at, b);
  if constexpr (detail::has(Only, op::layer_norm))
    if (kind == op::layer_norm) return layer_norm_task(at, b);
  if constexpr (detail::has(Only, op::head_norm))
    if (kind == op::head_norm) return head_norm_task(at, b);
  if constexpr (detail::has(Only, op::group_norm))
    if (kind == op::group_norm) return group_norm_task(at, b);
  if constexpr (detail::has(Only, op::local_response_norm))
    if (kind == op::local_response_norm) return local_response_task(at, b);
  if constexpr (detail::has(Only, op::softmax))
    if (kind == op::softmax) return channel_softmax_task(at, b);
  if constexpr (detail::has(Only, op::channel_scale))
    if (kind == op::channel_scale) return channel_scale_task(at, b);
  if constexpr (detail::has(Only, op::upsample_nearest, op::upsample_bilinear))
    if (kind == op::upsample_nearest || kind == op::upsample_bilinear) return resize_task(at, b);
  if constexpr (detail::has(Only, op::zero_pad2d))
    if (kind == op::zero_pad2d) return zero_pad_task(at, b);
  if constexpr (detail::has(Only, op::max_pool2d, op::avg_pool2d))
    if (kind == op::max_pool2d || kind == op::avg_pool2d) return pool_task(at, b);
  if constexpr (detail::has(Only, op::merge_pixels, op::class_token, op::position_embedding, op::token_slice,
                            op::transpose_tokens))
    if (kind == op::merge_pixels || kind == op::class_token || kind == op::position_embedding ||
        kind == op::token_slice || kind == op::transpose_tokens)
      return token_task(at, b);
  if constexpr (detail::has(Only, op::channel_slice, op::channel_shuffle))
    if (kind == op::channel_slice || kind == op::channel_shuffle) return channel_task(at, b);
  if constexpr (detail::has(Only, op::embedding))
    if (kind == op::embedding) return embedding_task(at, b);
  return {};
}

}  // namespace dsl::host::TYPENET_MODE
