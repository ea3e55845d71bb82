// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

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
