// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/operation.hpp>
#include <dsl/operations/activation/onnx.hpp>
#include <dsl/operations/depth_to_space/onnx.hpp>
#include <dsl/operations/rms_norm/onnx.hpp>
#include <dsl/operations/table.hpp>

#include <utility>

namespace dsl::detail::TYPENET_MODE {

/// Calls f.operator()<onnx_row<Kind>>() for each operation, until a call returns true. Returns whether one did.
template <class F>
bool any_onnx_row(F const& f) {
  return [&]<int... Kinds>(std::integer_sequence<int, Kinds...>) {
    return (f.template operator()<onnx_row<static_cast<op>(Kinds)>>() || ...);
  }(std::make_integer_sequence<int, operations::count>{});
}
/// Calls f.operator()<onnx_row<Kind>>() for the operation `kind`. Returns what it returns.
template <class F>
bool with_onnx_row(op kind, F const& f) {
  return [&]<int... Kinds>(std::integer_sequence<int, Kinds...>) {
    return ((static_cast<int>(kind) == Kinds && f.template operator()<onnx_row<static_cast<op>(Kinds)>>()) || ...);
  }(std::make_integer_sequence<int, operations::count>{});
}

}  // namespace dsl::detail::TYPENET_MODE
