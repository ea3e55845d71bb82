// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/step_task.hpp>
#include <dsl/executors/host/token_steps.hpp>

#include <cstring>

namespace dsl::host::TYPENET_MODE {

template <class Place>
void select_tokens(token_steps<Place> const& t) {
  t.each_block(t.step->to, [&t](int n, int block) {
    t.move(t.numbers(t.step->to, n, block),
           t.numbers(t.step->x, n, block) + 1LL * t.step->node->first_channel * t.lanes,
           t.step->to.shape.area() * t.lanes, false);
  });
}

template <class Place>
void select_tokens_backward(token_steps<Place> const& t) {
  if (!t.step->to.data) return;
  t.each_block(t.step->to, [&t](int n, int block) {
    float* const to = t.numbers(t.step->to, n, block);
    long long const all = t.step->to.shape.area() * t.lanes;
    if (!t.step->accumulate) std::memset(to, 0, sizeof(float) * static_cast<unsigned long long>(all));
    t.move(to + 1LL * t.step->node->first_channel * t.lanes, t.numbers(t.step->dy, n, block),
           t.step->dy.shape.area() * t.lanes, t.step->accumulate);
  });
}

template <>
struct step_task<op::token_slice> {
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    token_steps<Place> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { select_tokens(made); };
    return [made] { select_tokens_backward(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
