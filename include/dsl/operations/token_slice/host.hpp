// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_steps.hpp>

#include <cstring>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void token_slice_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[b.node->first_channel + i];
  });
}

/// Computes the input's gradient, which is 0 for tokens outside of the slice.
template <class T>
void token_slice_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  long long const first = b.node->first_channel, last = first + b.dy.shape.area();
  for_each_channel(b.to, [&](int n, int c) {
    auto const dy = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i)
      add_to(to[i], i >= first && i < last ? dy[i - first] : T(0), b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::token_slice>{
    .forward = token_slice_forward<T>, .backward = token_slice_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <class Device>
void select_tokens(token_steps<Device> const& t) {
  t.each_block(t.step->to, [&t](int n, int block) {
    t.move(t.numbers(t.step->to, n, block),
           t.numbers(t.step->x, n, block) + 1LL * t.step->node->first_channel * t.lanes,
           t.step->to.shape.area() * t.lanes, false);
  });
}

template <class Device>
void select_tokens_backward(token_steps<Device> const& t) {
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
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    token_steps<Device> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { select_tokens(made); };
    return [made] { select_tokens_backward(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
