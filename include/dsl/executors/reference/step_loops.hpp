// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/bound_step.hpp>

namespace dsl::plain::TYPENET_MODE {

/// What the loops of a few operations need beside a step's operands.
struct step_context {
  dropout_draw draw{};
  double momentum = 0;       // of a batch_norm's running moments
  bool unbiased = false;     // running variances
  double fused_epsilon = 0;  // of the batch_norm that a conv2d's step computes too
};

/// An operation in plain loops: what its row's gradient steps ask for, the rest null. Operands are bound in the order
/// in which the row says that they are read: x is the first activation, x2 the second.
template <class T>
struct loops {
  using loop = void (*)(host::bound_step<T> const&, step_context const&);
  loop forward = nullptr;
  loop backward = nullptr;
  loop backward_weights = nullptr;
  loop backward_data = nullptr;
};

}  // namespace dsl::plain::TYPENET_MODE
