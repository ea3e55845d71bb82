// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

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
