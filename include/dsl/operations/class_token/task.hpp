// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/step_task.hpp>
#include <dsl/executors/host/token_steps.hpp>

namespace dsl::host::TYPENET_MODE {

template <class Place>
void put_token(token_steps<Place> const& t) {
  t.each_block(t.step->to, [&t](int n, int block) {
    float* const to = t.numbers(t.step->to, n, block);
    t.move(to, t.step->parameter(role::kernel) + 1LL * block * t.lanes, t.lanes, false);
    t.move(to + t.lanes, t.numbers(t.step->x, n, block), t.step->x.shape.area() * t.lanes, false);
  });
}

template <class Place>
void take_token(token_steps<Place> const& t) {
  if (float* const gradient = t.step->gradient(role::kernel)) t.sum_samples(0, gradient);
  if (!t.step->to.data) return;
  t.each_block(t.step->to, [&t](int n, int block) {
    t.move(t.numbers(t.step->to, n, block), t.numbers(t.step->dy, n, block) + t.lanes,
           t.step->to.shape.area() * t.lanes, t.step->accumulate);
  });
}

template <>
struct step_task<op::class_token> {
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    token_steps<Place> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { put_token(made); };
    return [made] { take_token(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
