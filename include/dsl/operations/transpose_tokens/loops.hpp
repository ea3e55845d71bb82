// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void transpose_tokens_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    for (int p = 0; p < b.to.shape.width; ++p) b.to(n, c, p) = b.x(n, p, c);
  });
}

template <class T>
void transpose_tokens_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  for_each_channel(b.to, [&](int n, int c) {
    for (int p = 0; p < b.to.shape.area(); ++p) add_to(b.to(n, c, p), b.dy(n, p, c), b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::transpose_tokens>{
    .forward = transpose_tokens_forward<T>, .backward = transpose_tokens_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
