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
#include <dsl/operations/upsample2d/loops.hpp>
#include <dsl/operations/window_attention/loops.hpp>
#include <dsl/operations/window_offsets/loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns the loops of an operation of a set. They are all null for input and concat, which no step computes, for
/// custom operations, and for operations that are not in the set.
template <class T, operation_set Only = all_operations>
constexpr loops<T> loops_of(op kind) {
  if constexpr (detail::has(Only, op::conv2d))
    if (kind == op::conv2d) return conv2d_loops<T>;
  if constexpr (detail::has(Only, op::batch_norm))
    if (kind == op::batch_norm) return batch_norm_loops<T>;
  if constexpr (detail::has(Only, op::activation))
    if (kind == op::activation) return activation_loops<T>;
  if constexpr (detail::has(Only, op::max_pool2d))
    if (kind == op::max_pool2d) return max_pool2d_loops<T>;
  if constexpr (detail::has(Only, op::avg_pool2d))
    if (kind == op::avg_pool2d) return avg_pool2d_loops<T>;
  if constexpr (detail::has(Only, op::dropout))
    if (kind == op::dropout) return dropout_loops<T>;
  if constexpr (detail::has(Only, op::flatten))
    if (kind == op::flatten) return flatten_loops<T>;
  if constexpr (detail::has(Only, op::dense))
    if (kind == op::dense) return dense_loops<T>;
  if constexpr (detail::has(Only, op::softmax))
    if (kind == op::softmax) return softmax_loops<T>;
  if constexpr (detail::has(Only, op::add))
    if (kind == op::add) return add_loops<T>;
  if constexpr (detail::has(Only, op::transfer))
    if (kind == op::transfer) return transfer_loops<T>;
  if constexpr (detail::has(Only, op::multiply))
    if (kind == op::multiply) return multiply_loops<T>;
  if constexpr (detail::has(Only, op::layer_norm))
    if (kind == op::layer_norm) return layer_norm_loops<T>;
  if constexpr (detail::has(Only, op::upsample_nearest))
    if (kind == op::upsample_nearest) return upsample2d_loops<T, false>;
  if constexpr (detail::has(Only, op::upsample_bilinear))
    if (kind == op::upsample_bilinear) return upsample2d_loops<T, true>;
  if constexpr (detail::has(Only, op::channel_slice))
    if (kind == op::channel_slice) return channel_slice_loops<T>;
  if constexpr (detail::has(Only, op::channel_shuffle))
    if (kind == op::channel_shuffle) return channel_shuffle_loops<T>;
  if constexpr (detail::has(Only, op::channel_scale))
    if (kind == op::channel_scale) return channel_scale_loops<T>;
  if constexpr (detail::has(Only, op::stochastic_depth))
    if (kind == op::stochastic_depth) return stochastic_depth_loops<T>;
  if constexpr (detail::has(Only, op::conv2d_transpose))
    if (kind == op::conv2d_transpose) return conv2d_transpose_loops<T>;
  if constexpr (detail::has(Only, op::attention))
    if (kind == op::attention) return attention_loops<T, false>;
  if constexpr (detail::has(Only, op::causal_attention))
    if (kind == op::causal_attention) return attention_loops<T, true>;
  if constexpr (detail::has(Only, op::group_norm))
    if (kind == op::group_norm) return group_norm_loops<T>;
  if constexpr (detail::has(Only, op::local_response_norm))
    if (kind == op::local_response_norm) return local_response_norm_loops<T>;
  if constexpr (detail::has(Only, op::embedding))
    if (kind == op::embedding) return embedding_loops<T>;
  if constexpr (detail::has(Only, op::class_token))
    if (kind == op::class_token) return class_token_loops<T>;
  if constexpr (detail::has(Only, op::position_embedding))
    if (kind == op::position_embedding) return position_embedding_loops<T>;
  if constexpr (detail::has(Only, op::lstm, op::gru))
    if (kind == op::lstm || kind == op::gru) return recurrent_loops<T>;
  if constexpr (detail::has(Only, op::token_slice))
    if (kind == op::token_slice) return token_slice_loops<T>;
  if constexpr (detail::has(Only, op::window_attention))
    if (kind == op::window_attention) return window_attention_loops<T>;
  if constexpr (detail::has(Only, op::merge_pixels))
    if (kind == op::merge_pixels) return merge_pixels_loops<T>;
  if constexpr (detail::has(Only, op::bounded_window_attention))
    if (kind == op::bounded_window_attention) return bounded_window_attention_loops<T>;
  if constexpr (detail::has(Only, op::window_offsets))
    if (kind == op::window_offsets) return window_offsets_loops<T>;
  if constexpr (detail::has(Only, op::head_norm))
    if (kind == op::head_norm) return head_norm_loops<T>;
  return {};
}

}  // namespace dsl::plain::TYPENET_MODE
