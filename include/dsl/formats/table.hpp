// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>
#include <dsl/operations/activation/formats.hpp>
#include <dsl/operations/add/formats.hpp>
#include <dsl/operations/attention/formats.hpp>
#include <dsl/operations/batch_norm/formats.hpp>
#include <dsl/operations/bounded_window_attention/formats.hpp>
#include <dsl/operations/channel_scale/formats.hpp>
#include <dsl/operations/class_token/formats.hpp>
#include <dsl/operations/concat/formats.hpp>
#include <dsl/operations/conv2d/formats.hpp>
#include <dsl/operations/conv2d_transpose/formats.hpp>
#include <dsl/operations/custom/formats.hpp>
#include <dsl/operations/dense/formats.hpp>
#include <dsl/operations/dropout/formats.hpp>
#include <dsl/operations/embedding/formats.hpp>
#include <dsl/operations/flatten/formats.hpp>
#include <dsl/operations/group_norm/formats.hpp>
#include <dsl/operations/head_norm/formats.hpp>
#include <dsl/operations/input/formats.hpp>
#include <dsl/operations/layer_norm/formats.hpp>
#include <dsl/operations/local_response_norm/formats.hpp>
#include <dsl/operations/multiply/formats.hpp>
#include <dsl/operations/pool2d/formats.hpp>
#include <dsl/operations/position_embedding/formats.hpp>
#include <dsl/operations/recurrent/formats.hpp>
#include <dsl/operations/softmax/formats.hpp>
#include <dsl/operations/stochastic_depth/formats.hpp>
#include <dsl/operations/transfer/formats.hpp>
#include <dsl/operations/upsample2d/formats.hpp>
#include <dsl/operations/window_attention/formats.hpp>
#include <dsl/operations/zero_pad2d/formats.hpp>
#include <dsl/operations/table.hpp>

#include <utility>

namespace dsl::formats::TYPENET_MODE {

template <int... Kinds>
row const& row_in(std::integer_sequence<int, Kinds...>, op kind) {
  static constexpr row const* rows[] = {&row_for<static_cast<op>(Kinds)>...};
  return *rows[static_cast<int>(kind)];
}

/// Returns what files and diagrams say about an operation.
inline row const& row_of(op kind) {
  return row_in(std::make_integer_sequence<int, sizeof operations::table / sizeof(operations::row)>{}, kind);
}

}  // namespace dsl::formats::TYPENET_MODE
