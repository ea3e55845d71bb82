// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_steps.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void class_token_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    out[0] = b.parameter(role::kernel)[c];
    for (long long i = 0; i < b.x.shape.area(); ++i) out[i + 1] = in[i];
  });
}

/// Computes dx and the gradient of the token, which is summed over samples in double.
template <class T>
void class_token_backward(host::bound_step<T> const& b, step_context const&) {
  for (int c = 0; c < b.dy.shape.channels; ++c) {
    double sum = 0;
    for (int n = 0; n < b.dy.batch; ++n) sum += static_cast<double>(b.dy(n, c, 0));
    if (b.gradient(role::kernel)) b.gradient(role::kernel)[c] = static_cast<T>(sum);
    for (int n = 0; b.to.data && n < b.dy.batch; ++n) {
      auto const dy = b.dy.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < b.to.shape.area(); ++i) add_to(to[i], dy[i + 1], b.accumulate);
    }
  }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::class_token>{
    .forward = class_token_forward<T>, .backward = class_token_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <class Device>
void put_token(token_steps<Device> const& t) {
  t.each_block(t.step->to, [&t](int n, int block) {
    float* const to = t.numbers(t.step->to, n, block);
    t.move(to, t.step->parameter(role::kernel) + 1LL * block * t.lanes, t.lanes, false);
    t.move(to + t.lanes, t.numbers(t.step->x, n, block), t.step->x.shape.area() * t.lanes, false);
  });
}

template <class Device>
void take_token(token_steps<Device> const& t) {
  if (float* const gradient = t.step->gradient(role::kernel)) t.sum_samples(0, gradient);
  if (!t.step->to.data) return;
  t.each_block(t.step->to, [&t](int n, int block) {
    t.move(t.numbers(t.step->to, n, block), t.numbers(t.step->dy, n, block) + t.lanes,
           t.step->to.shape.area() * t.lanes, t.step->accumulate);
  });
}

template <>
struct step_task<op::class_token> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    token_steps<Device> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { put_token(made); };
    return [made] { take_token(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
