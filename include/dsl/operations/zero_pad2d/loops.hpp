// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>
#include <dsl/graph/node.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void zero_pad2d_forward(host::bound_step<T> const& b, step_context const&) {
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for (int i = 0; i < b.to.shape.height; ++i)
      for (int j = 0; j < b.to.shape.width; ++j) {
        int const row = i - w.pad_top, column = j - w.pad_left;
        bool const inside = row >= 0 && row < b.x.shape.height && column >= 0 && column < b.x.shape.width;
        out[1LL * i * b.to.shape.width + j] = inside ? in[1LL * row * b.x.shape.width + column] : T{0};
      }
  });
}

template <class T>
void zero_pad2d_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (int i = 0; i < b.to.shape.height; ++i)
      for (int j = 0; j < b.to.shape.width; ++j)
        add_to(to[1LL * i * b.to.shape.width + j], from[1LL * (i + w.pad_top) * b.dy.shape.width + j + w.pad_left],
               b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::zero_pad2d>{.forward = zero_pad2d_forward<T>,
                                                       .backward = zero_pad2d_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE
