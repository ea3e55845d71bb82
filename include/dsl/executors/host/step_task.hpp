// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/operations/operation.hpp>

namespace dsl::host::TYPENET_MODE {

/// The vector kernels of an operation whose speed is limited by memory, shared by executors with channel blocks.
/// operations/<name>/task.hpp specialises it, with a function make<Only>(at, step): it returns the task of a forward or
/// backward step, or an empty one if the layouts of its tensors do not suit. memory_tasks.hpp says what `at` is. Only
/// is the set of operations that the program's networks have.
template <op Kind>
struct step_task {};

}  // namespace dsl::host::TYPENET_MODE
