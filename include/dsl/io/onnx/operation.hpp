// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/operations/table.hpp>

namespace dsl::detail::TYPENET_MODE {

/// What ONNX files need of an operation. operations/<name>/onnx.hpp specialises it with some of these functions, which
/// may use all members of the writer and of the reader:
/// write(w)       writes the operators of the writer's current node;
/// read(r, type)  reads an operator of this type as the operation, or returns false;
/// made_of(r, f)  returns the value of the layer that computes elementwise operators and means, or null;
/// text(net, l)   returns the layer as C++ source.
template <op Kind>
struct onnx_row {};

}  // namespace dsl::detail::TYPENET_MODE
