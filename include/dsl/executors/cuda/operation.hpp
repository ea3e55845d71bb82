// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

namespace dsl::cu::TYPENET_MODE {

/// How `cuda` computes an operation that has its own kernels. operations/<name>/cuda.hpp specialises it: forward(r, x)
/// and backward(r, x) record the launches of a step, and the names are those of the kernels, one launch each.
template <op Kind>
struct records {};

}  // namespace dsl::cu::TYPENET_MODE
