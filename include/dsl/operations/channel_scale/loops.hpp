// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Computes y = gamma x for each channel. y may be x.
template <class T>
void channel_scale_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    T const scale = b.parameter(role::gamma)[c];
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i] * scale;
  });
}

/// Computes dx and each scale's gradient, which is a sum over samples and pixels in double. dx may be x or dy.
template <class T>
void channel_scale_backward(host::bound_step<T> const& b, step_context const&) {
  for (int c = 0; c < b.x.shape.channels; ++c) {
    double sum = 0;
    for (int n = 0; b.gradient(role::gamma) && n < b.x.batch; ++n) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      for (long long i = 0; i < b.x.shape.area(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(dy[i]);
    }
    if (b.gradient(role::gamma)) b.gradient(role::gamma)[c] = static_cast<T>(sum);
    for (int n = 0; b.to.data && n < b.x.batch; ++n) {
      auto const dy = b.dy.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < b.x.shape.area(); ++i) add_to(to[i], dy[i] * b.parameter(role::gamma)[c], b.accumulate);
    }
  }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::channel_scale>{.forward = channel_scale_forward<T>,
                                                          .backward = channel_scale_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE
