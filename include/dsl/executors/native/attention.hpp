// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_backward.hpp>
#include <dsl/executors/native/attention_forward.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// Returns the task of a step of attention, and an empty one for other steps.
inline host::task attention_task(cpu_device& at, host::bound_step<float> const& b) {
  if (!b.node || (b.node->kind != op::attention && b.node->kind != op::causal_attention &&
                  !attention_products::is_divided(*b.node)))
    return {};
  if (b.step->what == action::forward) return [pass = attention_forward(at, b)] { pass(); };
  if (b.step->what == action::backward && b.to.data) return [pass = attention_backward(at, b)] { pass(); };
  return {};
}

}  // namespace dsl::native_cpu::TYPENET_MODE
