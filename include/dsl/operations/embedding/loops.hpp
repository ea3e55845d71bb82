// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/token_number.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Copies the row of each token. The kernel is (vocabulary, features), as in PyTorch. For a token outside the
/// vocabulary, the row is NaNs.
template <class T>
void embedding_forward(host::bound_step<T> const& b, step_context const&) {
  int const features = b.to.shape.channels;
  for (int n = 0; n < b.to.batch; ++n)
    for (long long i = 0; i < b.to.shape.area(); ++i) {
      int const token = host::token_of(b.x(n, 0, i), b.node->groups);
      T const* const row = token < 0 ? nullptr : b.parameter(role::kernel) + 1LL * token * features;
      for (int c = 0; c < features; ++c) b.to(n, c, i) = row ? row[c] : static_cast<T>(__builtin_nan(""));
    }
}

/// Computes the gradient of each row of the kernel, which is summed over the places of its token in the samples' order.
/// The input's gradient is 0, since small changes of a token's number do not change the output.
template <class T>
void embedding_backward(host::bound_step<T> const& b, step_context const&) {
  int const features = b.dy.shape.channels;
  if (T* const all = b.gradient(role::kernel)) {
    for (long long k = 0; k < 1LL * b.node->groups * features; ++k) all[k] = 0;
    for (int n = 0; n < b.dy.batch; ++n)
      for (long long i = 0; i < b.dy.shape.area(); ++i) {
        int const token = host::token_of(b.x(n, 0, i), b.node->groups);
        for (int c = 0; token >= 0 && c < features; ++c) all[1LL * token * features + c] += b.dy(n, c, i);
      }
  }
  if (!b.to.data || b.accumulate) return;
  for_each_channel(b.to, [&](int n, int c) {
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = 0;
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::embedding>{
    .forward = embedding_forward<T>, .backward = embedding_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
