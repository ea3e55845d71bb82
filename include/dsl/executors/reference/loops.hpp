// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
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

/// Returns the loops of an operation. They are all null for input and concat, which no step computes, and for custom
/// operations.
template <class T>
constexpr loops<T> loops_of(op kind) {
  switch (kind) {
    case op::conv2d: return conv2d_loops<T>;
    case op::batch_norm: return batch_norm_loops<T>;
    case op::activation: return activation_loops<T>;
    case op::max_pool2d: return max_pool2d_loops<T>;
    case op::avg_pool2d: return avg_pool2d_loops<T>;
    case op::dropout: return dropout_loops<T>;
    case op::flatten: return flatten_loops<T>;
    case op::dense: return dense_loops<T>;
    case op::softmax: return softmax_loops<T>;
    case op::add: return add_loops<T>;
    case op::transfer: return transfer_loops<T>;
    case op::multiply: return multiply_loops<T>;
    case op::layer_norm: return layer_norm_loops<T>;
    case op::upsample_nearest: return upsample2d_loops<T, false>;
    case op::upsample_bilinear: return upsample2d_loops<T, true>;
    case op::channel_slice: return channel_slice_loops<T>;
    case op::channel_shuffle: return channel_shuffle_loops<T>;
    case op::channel_scale: return channel_scale_loops<T>;
    case op::stochastic_depth: return stochastic_depth_loops<T>;
    case op::conv2d_transpose: return conv2d_transpose_loops<T>;
    case op::attention: return attention_loops<T, false>;
    case op::causal_attention: return attention_loops<T, true>;
    case op::group_norm: return group_norm_loops<T>;
    case op::local_response_norm: return local_response_norm_loops<T>;
    case op::embedding: return embedding_loops<T>;
    case op::class_token: return class_token_loops<T>;
    case op::position_embedding: return position_embedding_loops<T>;
    case op::lstm:
    case op::gru: return recurrent_loops<T>;
    case op::token_slice: return token_slice_loops<T>;
    case op::window_attention: return window_attention_loops<T>;
    case op::merge_pixels: return merge_pixels_loops<T>;
    case op::bounded_window_attention: return bounded_window_attention_loops<T>;
    case op::window_offsets: return window_offsets_loops<T>;
    case op::head_norm: return head_norm_loops<T>;
    default: return {};
  }
}

}  // namespace dsl::plain::TYPENET_MODE
