// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/operations/table.hpp>

// What executors in host memory know about an operation. operations/<name>/host.hpp specialises it.

namespace dsl::plain::TYPENET_MODE {

/// Arguments that the loops of a few operations need besides a step's operands.
struct step_context {
  dropout_draw draw{};
  double momentum = 0;       // the share of a batch_norm's running moments that a step keeps
  bool unbiased = false;     // whether running variances are unbiased
  double fused_epsilon = 0;  // epsilon of the batch_norm fused into a conv2d
  int first_channel = 0;     // of a part of a step: the number of channel 0 in the whole tensor
};

/// The units into which a step's plain loops can be divided, so that they do not depend on each other.
enum class parts_of : unsigned char { none, samples, channels };

/// The plain loops of an operation. Besides `forward`, it has those loops that the gradient steps in its row need; the
/// others are null. Operands are bound in the order in which the row says that they are read: x is the first
/// activation, x2 the second.
template <class T>
struct loops {
  using loop = void (*)(host::bound_step<T> const&, step_context const&);
  loop forward = nullptr;
  loop backward = nullptr;
  loop backward_weights = nullptr;
  loop backward_data = nullptr;
  /// How native divides a step that computes no gradients of parameters among its threads. Parts of a backward step
  /// have the same operands as the step.
  parts_of parts = parts_of::none;
};

/// The loops of an operation. They are all null for input and concat, which
/// no step computes, and for custom operations.
template <class T, op Kind>
inline constexpr loops<T> loops_for{};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// The vector kernels of an operation whose speed is limited by memory, shared by executors with channel blocks.
/// A specialisation has a function make<Only>(at, step): it returns the task of a forward or
/// backward step, or an empty one if the layouts of its tensors do not suit. vector_tasks.hpp says what `at` is. Only
/// is the set of operations that the program's networks have.
template <op Kind>
struct step_task {};

}  // namespace dsl::host::TYPENET_MODE
