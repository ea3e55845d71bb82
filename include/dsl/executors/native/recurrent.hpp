// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/recurrent_backward.hpp>
#include <dsl/executors/native/recurrent_forward.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// Returns the task of a step of an lstm or a gru, and an empty one for other steps.
inline host::task recurrent_task(cpu_device& at, host::bound_step<float> const& b) {
  if (!b.node || (b.node->kind != op::lstm && b.node->kind != op::gru)) return {};
  if (b.step->what == action::forward) return [pass = recurrent_forward(at, b)] { pass(); };
  if (b.step->what == action::backward) return [pass = recurrent_backward(at, b)] { pass(); };
  return {};
}

}  // namespace dsl::native_cpu::TYPENET_MODE
