// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/operations/activation/host.hpp>
#include <dsl/operations/add/host.hpp>
#include <dsl/operations/attention/host.hpp>
#include <dsl/operations/batch_norm/host.hpp>
#include <dsl/operations/channel_scale/host.hpp>
#include <dsl/operations/channel_shuffle/host.hpp>
#include <dsl/operations/channel_slice/host.hpp>
#include <dsl/operations/class_token/host.hpp>
#include <dsl/operations/conv2d/host.hpp>
#include <dsl/operations/conv2d_transpose/host.hpp>
#include <dsl/operations/dense/host.hpp>
#include <dsl/operations/depth_to_space/host.hpp>
#include <dsl/operations/dropout/host.hpp>
#include <dsl/operations/embedding/host.hpp>
#include <dsl/operations/flatten/host.hpp>
#include <dsl/operations/group_norm/host.hpp>
#include <dsl/operations/head_norm/host.hpp>
#include <dsl/operations/layer_norm/host.hpp>
#include <dsl/operations/local_response_norm/host.hpp>
#include <dsl/operations/merge_pixels/host.hpp>
#include <dsl/operations/multiply/host.hpp>
#include <dsl/operations/pool2d/host.hpp>
#include <dsl/operations/position_embedding/host.hpp>
#include <dsl/operations/recurrent/host.hpp>
#include <dsl/operations/rms_norm/host.hpp>
#include <dsl/operations/softmax/host.hpp>
#include <dsl/operations/stochastic_depth/host.hpp>
#include <dsl/operations/token_slice/host.hpp>
#include <dsl/operations/transfer/host.hpp>
#include <dsl/operations/transpose_tokens/host.hpp>
#include <dsl/operations/upsample2d/host.hpp>
#include <dsl/operations/window_attention/host.hpp>
#include <dsl/operations/window_offsets/host.hpp>
#include <dsl/operations/zero_pad2d/host.hpp>
#include <dsl/operations/table.hpp>

#include <utility>

namespace dsl::plain::TYPENET_MODE {

/// The loops of the operations of a set, indexed by op. Those of other operations are null.
template <class T, operation_set Only>
struct loop_list {
  loops<T> of[operations::count]{};

  template <int Kind = operations::count - 1>
  constexpr void add() {
    if constexpr (detail::has(Only, static_cast<op>(Kind))) of[Kind] = loops_for<T, static_cast<op>(Kind)>;
    if constexpr (Kind > 0) add<Kind - 1>();
  }
  constexpr loop_list() { add(); }
};
template <class T, operation_set Only>
inline constexpr loop_list<T, Only> loops_in{};

/// Returns the loops of an operation; they are null if it is not in the set.
template <class T, operation_set Only = all_operations>
constexpr loops<T> loops_of(op kind) {
  return loops_in<T, Only>.of[static_cast<int>(kind)];
}

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Returns the function that makes tasks for an operation, or null if it has no kernels or is not in the set.
template <operation_set Only, class Device, op Kind>
constexpr auto maker_of() -> task (*)(Device&, bound_step<float> const&) {
  if constexpr (detail::has(Only, Kind) && requires { &step_task<Kind>::template make<Only, Device>; })
    return &step_task<Kind>::template make<Only, Device>;
  else
    return nullptr;
}
template <operation_set Only, class Device, int... Kinds>
task step_task_of(std::integer_sequence<int, Kinds...>, Device& at, bound_step<float> const& b) {
  static constexpr decltype(maker_of<Only, Device, op::input>()) makers[] = {
      maker_of<Only, Device, static_cast<op>(Kinds)>()...};
  auto const make = makers[static_cast<int>(b.node->kind)];
  return make ? make(at, b) : task{};
}

}  // namespace dsl::host::TYPENET_MODE
