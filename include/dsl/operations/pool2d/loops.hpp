// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>
#include <dsl/graph/node.hpp>

namespace dsl::plain {

/// Calls f(output pixel, pixel of the window's first value) for every window of a channel.
template <class F>
void for_each_window(shape const& in, shape const& out, window const& w, F f) {
  for (int row = 0; row < out.height; ++row)
    for (int column = 0; column < out.width; ++column)
      f(1LL * row * out.width + column, 1LL * row * w.stride * in.width + 1LL * column * w.stride);
}

/// y is the largest value of each window, the first of equals, and NaN where the window has one, as in PyTorch; argmax
/// receives its place in the window, row by row. Or, with `mean`, the mean of each.
template <class T>
[[gnu::cold]] void pool2d_forward(view<T const> const& x, view<T> const& y, host::argmax_view const& argmax,
                                  window const& w, bool mean) {
  T const size = static_cast<T>(w.height * w.width);
  for_each_channel(y, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for_each_window(x.shape, y.shape, w, [&](long long to, long long from) {
      T sum = 0;
      T best = in[from];
      int place = 0;
      for (int i = 0; i < w.height; ++i)
        for (int j = 0; j < w.width; ++j) {
          T const v = in[from + 1LL * i * x.shape.width + j];
          sum += v;
          if (v > best || __builtin_isnan(v)) best = v, place = i * w.width + j;
        }
      out[to] = mean ? sum / size : best;
      if (!mean) argmax.set(n, c, to, place);
    });
  });
}

template <class T>
[[gnu::cold]] void pool2d_backward(view<T const> const& dy, host::argmax_view const& argmax, view<T> const& dx,
                                   window const& w, bool mean, bool accumulate) {
  T const size = static_cast<T>(w.height * w.width);
  for_each_channel(dx, [&](int n, int c) {
    auto const from = dy.pixels(n, c);
    auto const to = dx.pixels(n, c);
    if (!accumulate)
      for (long long i = 0; i < dx.shape.area(); ++i) to[i] = 0;
    for_each_window(dx.shape, dy.shape, w, [&](long long at, long long corner) {
      if (!mean) {
        int const place = argmax.get(n, c, at);
        to[corner + 1LL * (place / w.width) * dx.shape.width + place % w.width] += from[at];
        return;
      }
      T const share = from[at] / size;
      for (int i = 0; i < w.height; ++i)
        for (int j = 0; j < w.width; ++j) to[corner + 1LL * i * dx.shape.width + j] += share;
    });
  });
}

template <class T>
inline constexpr loops<T> max_pool2d_loops{
    .forward = [](host::bound_step<T> const& b,
                  step_context const&) { pool2d_forward(b.x, b.to, b.argmax, b.node->window, false); },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          pool2d_backward(b.dy, b.argmax, b.to, b.node->window, false, b.accumulate);
        }};

template <class T>
inline constexpr loops<T> avg_pool2d_loops{
    .forward = [](host::bound_step<T> const& b,
                  step_context const&) { pool2d_forward(b.x, b.to, b.argmax, b.node->window, true); },
    .backward = [](host::bound_step<T> const& b,
                   step_context const&) { pool2d_backward(b.dy, b.argmax, b.to, b.node->window, true, b.accumulate); }};

}  // namespace dsl::plain
