// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/operations/activation/loops.hpp>
#include <dsl/operations/add/loops.hpp>
#include <dsl/operations/attention/loops.hpp>
#include <dsl/operations/batch_norm/loops.hpp>
#include <dsl/operations/channel_scale/loops.hpp>
#include <dsl/operations/channel_shuffle/loops.hpp>
#include <dsl/operations/channel_slice/loops.hpp>
#include <dsl/operations/class_token/loops.hpp>
#include <dsl/operations/conv2d/loops.hpp>
#include <dsl/operations/conv2d_transpose/loops.hpp>
#include <dsl/operations/dense/loops.hpp>
#include <dsl/operations/dropout/loops.hpp>
#include <dsl/operations/embedding/loops.hpp>
#include <dsl/operations/flatten/loops.hpp>
#include <dsl/operations/group_norm/loops.hpp>
#include <dsl/operations/head_norm/loops.hpp>
#include <dsl/operations/layer_norm/loops.hpp>
#include <dsl/operations/local_response_norm/loops.hpp>
#include <dsl/operations/merge_pixels/loops.hpp>
#include <dsl/operations/multiply/loops.hpp>
#include <dsl/operations/pool2d/loops.hpp>
#include <dsl/operations/position_embedding/loops.hpp>
#include <dsl/operations/recurrent/loops.hpp>
#include <dsl/operations/softmax/loops.hpp>
#include <dsl/operations/stochastic_depth/loops.hpp>
#include <dsl/operations/token_slice/loops.hpp>
#include <dsl/operations/transfer/loops.hpp>
#include <dsl/operations/transpose_tokens/loops.hpp>
#include <dsl/operations/upsample2d/loops.hpp>
#include <dsl/operations/window_attention/loops.hpp>
#include <dsl/operations/window_offsets/loops.hpp>
#include <dsl/operations/zero_pad2d/loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The loops of the operations of a set, indexed by op. Those of other operations are null.
template <class T, operation_set Only>
struct loop_list {
  loops<T> of[sizeof operations::table / sizeof(operations::row)]{};

  template <int Kind = sizeof operations::table / sizeof(operations::row) - 1>
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
