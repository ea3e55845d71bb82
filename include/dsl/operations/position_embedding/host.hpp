// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_steps.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Adds the embedding, which is (pixels, channels) as in PyTorch, to each sample. y may be the same memory as x.
template <class T>
void position_embedding_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    T const* const added = b.parameter(role::kernel) + c;
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i] + added[i * b.to.shape.channels];
  });
}

/// Computes dx and the gradient of the embedding, which is summed over samples in double. dx may be the same memory as
/// dy.
template <class T>
void position_embedding_backward(host::bound_step<T> const& b, step_context const&) {
  int const channels = b.dy.shape.channels;
  for (int c = 0; b.gradient(role::kernel) && c < channels; ++c)
    for (long long i = 0; i < b.dy.shape.area(); ++i) {
      double sum = 0;
      for (int n = 0; n < b.dy.batch; ++n) sum += static_cast<double>(b.dy(n, c, i));
      b.gradient(role::kernel)[i * channels + c] = static_cast<T>(sum);
    }
  if (b.to.data) copy(b.dy, b.to, b.accumulate);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::position_embedding>{
    .forward = position_embedding_forward<T>, .backward = position_embedding_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <class Device>
void add_positions(token_steps<Device> const& t) {
  int const channels = t.step->to.shape.channels;
  t.each_block(t.step->to, [&t, channels](int n, int block) {
    float* to = t.numbers(t.step->to, n, block);
    float const *x = t.numbers(t.step->x, n, block), *added = t.step->parameter(role::kernel) + 1LL * block * t.lanes;
    for (long long i = 0; i < t.step->to.shape.area(); ++i, x += t.lanes, to += t.lanes, added += channels)
      for (int l = 0; l < t.lanes; ++l) to[l] = x[l] + added[l];
  });
}

template <class Device>
void add_positions_backward(token_steps<Device> const& t) {
  if (float* const gradient = t.step->gradient(role::kernel)) {
    int const channels = t.step->dy.shape.channels;
    t.at->run(static_cast<int>(t.step->dy.shape.area()),
              [&](int pixel) { t.sum_samples(pixel, gradient + 1LL * pixel * channels); });
  }
  if (!t.step->to.data || (t.step->to.data == t.step->dy.data && !t.step->accumulate)) return;
  t.each_block(t.step->to, [&t](int n, int block) {
    t.move(t.numbers(t.step->to, n, block), t.numbers(t.step->dy, n, block), t.step->to.shape.area() * t.lanes,
           t.step->accumulate);
  });
}

template <>
struct step_task<op::position_embedding> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    token_steps<Device> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { add_positions(made); };
    return [made] { add_positions_backward(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
