// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/operations/table.hpp>

namespace dsl::cu::TYPENET_MODE {

/// How `cuda` computes an operation that has its own kernels. operations/<name>/cuda.hpp specialises it: `text` is the
/// kernels' source, a blank line if that of another operation has them; forward(r, x) and backward(r, x), for a
/// recording r, record the launches of a step, and `forward_kernel` and `backward_kernel` are the names of their
/// kernels, one launch each. Of r, they use only type, batch(), launch(), parts.graph.nodes and at.read(), at.written()
/// and at.accumulates(), since a test has another class in its place.
template <op Kind>
struct own_kernels {};

}  // namespace dsl::cu::TYPENET_MODE
