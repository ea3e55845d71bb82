// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/activation/facts.hpp>
#include <dsl/operations/add/facts.hpp>
#include <dsl/operations/attention/facts.hpp>
#include <dsl/operations/batch_norm/facts.hpp>
#include <dsl/operations/bounded_window_attention/facts.hpp>
#include <dsl/operations/channel_scale/facts.hpp>
#include <dsl/operations/channel_shuffle/facts.hpp>
#include <dsl/operations/channel_slice/facts.hpp>
#include <dsl/operations/class_token/facts.hpp>
#include <dsl/operations/concat/facts.hpp>
#include <dsl/operations/conv2d/facts.hpp>
#include <dsl/operations/conv2d_transpose/facts.hpp>
#include <dsl/operations/custom/facts.hpp>
#include <dsl/operations/dense/facts.hpp>
#include <dsl/operations/depth_to_space/facts.hpp>
#include <dsl/operations/dropout/facts.hpp>
#include <dsl/operations/embedding/facts.hpp>
#include <dsl/operations/flatten/facts.hpp>
#include <dsl/operations/group_norm/facts.hpp>
#include <dsl/operations/head_norm/facts.hpp>
#include <dsl/operations/input/facts.hpp>
#include <dsl/operations/layer_norm/facts.hpp>
#include <dsl/operations/local_response_norm/facts.hpp>
#include <dsl/operations/merge_pixels/facts.hpp>
#include <dsl/operations/multiply/facts.hpp>
#include <dsl/operations/pool2d/facts.hpp>
#include <dsl/operations/position_embedding/facts.hpp>
#include <dsl/operations/recurrent/facts.hpp>
#include <dsl/operations/rms_norm/facts.hpp>
#include <dsl/operations/softmax/facts.hpp>
#include <dsl/operations/stochastic_depth/facts.hpp>
#include <dsl/operations/token_slice/facts.hpp>
#include <dsl/operations/transfer/facts.hpp>
#include <dsl/operations/transpose_tokens/facts.hpp>
#include <dsl/operations/upsample2d/facts.hpp>
#include <dsl/operations/window_attention/facts.hpp>
#include <dsl/operations/window_offsets/facts.hpp>
#include <dsl/operations/zero_pad2d/facts.hpp>

namespace dsl {

/// The operation of a node. It is also the index of the operation's facts in the table below. Files store these
/// numbers, so new operations must be added at the end.
enum class op : unsigned char {
  input,
  conv2d,
  batch_norm,
  activation,
  max_pool2d,
  avg_pool2d,
  dropout,
  flatten,
  dense,
  softmax,
  concat,
  add,
  custom,
  transfer,  // its input, on another device
  multiply,
  layer_norm,
  upsample_nearest,
  upsample_bilinear,
  channel_slice,
  channel_shuffle,
  channel_scale,
  stochastic_depth,
  conv2d_transpose,
  attention,
  causal_attention,
  group_norm,
  local_response_norm,
  class_token,
  position_embedding,
  token_slice,
  embedding,
  window_attention,
  merge_pixels,
  lstm,
  gru,
  bounded_window_attention,
  window_offsets,
  head_norm,
  transpose_tokens,
  zero_pad2d,
  rms_norm,
  depth_to_space,
  space_to_depth,
};

}  // namespace dsl

namespace dsl::operations {

/// The facts of each operation, indexed by op. For op::activation, they are the facts of the node's function in
/// `activations` instead.
inline constexpr row table[] = {
    input,                     // 0
    conv2d,                    // 1
    batch_norm,                // 2
    activations[0],            // 3
    max_pool2d,                // 4
    avg_pool2d,                // 5
    dropout,                   // 6
    flatten,                   // 7
    dense,                     // 8
    softmax,                   // 9
    concat,                    // 10
    add,                       // 11
    custom,                    // 12
    transfer,                  // 13
    multiply,                  // 14
    layer_norm,                // 15
    upsample_nearest,          // 16
    upsample_bilinear,         // 17
    channel_slice,             // 18
    channel_shuffle,           // 19
    channel_scale,             // 20
    stochastic_depth,          // 21
    conv2d_transpose,          // 22
    attention,                 // 23
    causal_attention,          // 24
    group_norm,                // 25
    local_response_norm,       // 26
    class_token,               // 27
    position_embedding,        // 28
    token_slice,               // 29
    embedding,                 // 30
    window_attention,          // 31
    merge_pixels,              // 32
    lstm,                      // 33
    gru,                       // 34
    bounded_window_attention,  // 35
    window_offsets,            // 36
    head_norm,                 // 37
    transpose_tokens,          // 38
    zero_pad2d,                // 39
    rms_norm,                  // 40
    depth_to_space,            // 41
    space_to_depth,            // 42
};
/// The number of operations.
inline constexpr int count = sizeof table / sizeof(row);
static_assert(static_cast<int>(op::zero_pad2d) == 39);             // the first operations keep their numbers
static_assert(static_cast<int>(op::space_to_depth) + 1 == count);  // the last one has a row

}  // namespace dsl::operations
