// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

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
