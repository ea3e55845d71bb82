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

/// The loops of each operation. They are all null for input and concat, which no step computes, and for custom
/// operations.
template <class T, op Kind>
inline constexpr loops<T> loops_for{};
template <class T>
inline constexpr loops<T> loops_for<T, op::conv2d> = conv2d_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::batch_norm> = batch_norm_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::activation> = activation_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::max_pool2d> = max_pool2d_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::avg_pool2d> = avg_pool2d_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::dropout> = dropout_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::flatten> = flatten_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::dense> = dense_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::softmax> = softmax_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::add> = add_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::transfer> = transfer_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::multiply> = multiply_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::layer_norm> = layer_norm_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_nearest> = upsample2d_loops<T, false>;
template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_bilinear> = upsample2d_loops<T, true>;
template <class T>
inline constexpr loops<T> loops_for<T, op::channel_slice> = channel_slice_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::channel_shuffle> = channel_shuffle_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::channel_scale> = channel_scale_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::stochastic_depth> = stochastic_depth_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::conv2d_transpose> = conv2d_transpose_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::attention> = attention_loops<T, false>;
template <class T>
inline constexpr loops<T> loops_for<T, op::causal_attention> = attention_loops<T, true>;
template <class T>
inline constexpr loops<T> loops_for<T, op::group_norm> = group_norm_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::local_response_norm> = local_response_norm_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::embedding> = embedding_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::class_token> = class_token_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::position_embedding> = position_embedding_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::lstm> = recurrent_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::gru> = recurrent_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::token_slice> = token_slice_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::window_attention> = window_attention_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::merge_pixels> = merge_pixels_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::bounded_window_attention> = bounded_window_attention_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::window_offsets> = window_offsets_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::head_norm> = head_norm_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::transpose_tokens> = transpose_tokens_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::zero_pad2d> = zero_pad2d_loops<T>;

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
