// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>
#include <dsl/graph/node.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The part of a window that is on the image.
struct pool_patch {
  window_part rows{};
  window_part columns{};
  int width = 0;  // of the image

  int size() const { return (rows.last - rows.first) * (columns.last - columns.first); }
  /// Calls f(pixel, row in the window, column in the window) for every pixel of this part.
  template <class F>
  void for_each(F f) const {
    for (int i = rows.first; i < rows.last; ++i)
      for (int j = columns.first; j < columns.last; ++j) f(1LL * (rows.begin + i) * width + columns.begin + j, i, j);
  }
};

/// Calls f(output pixel, patch) for every window of a channel.
template <class F>
void for_each_window(shape const& in, shape const& out, window const& w, F f) {
  for (int row = 0; row < out.height; ++row)
    for (int column = 0; column < out.width; ++column)
      f(1LL * row * out.width + column,
        pool_patch{window_part_of(row, w.rows(), in.height), window_part_of(column, w.columns(), in.width), in.width});
}

/// Computes the largest value of each window, or NaN if the window contains one, as in PyTorch. argmax receives the
/// position of this value in the window, row-major; if several values are the largest, it is the position of the first.
/// Padding is never the maximum.
template <class T>
void max_pool2d_forward(host::bound_step<T> const& b, step_context const&) {
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for_each_window(b.x.shape, b.to.shape, w, [&](long long to, pool_patch const& p) {
      T best = 0;
      int place = -1;
      p.for_each([&](long long at, int i, int j) {
        T const v = in[at];
        if (place < 0 || v > best || __builtin_isnan(v)) best = v, place = i * w.width + j;
      });
      out[to] = best;
      b.argmax.set(n, c, to, place);
    });
  });
}

template <class T>
void max_pool2d_backward(host::bound_step<T> const& b, step_context const&) {
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; !b.accumulate && i < b.to.shape.area(); ++i) to[i] = 0;
    for_each_window(b.to.shape, b.dy.shape, w, [&](long long at, pool_patch const& p) {
      int const place = b.argmax.get(n, c, at);
      to[1LL * (p.rows.begin + place / w.width) * p.width + p.columns.begin + place % w.width] += from[at];
    });
  });
}

/// Returns the number of values by which the sum of a window is divided to get its mean.
template <class T>
T numbers_in(pool_patch const& p, node const& n) {
  return static_cast<T>(n.counts_padding ? n.window.height * n.window.width : p.size());
}

template <class T>
void avg_pool2d_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for_each_window(b.x.shape, b.to.shape, b.node->window, [&](long long to, pool_patch const& p) {
      T sum = 0;
      p.for_each([&](long long at, int, int) { sum += in[at]; });
      out[to] = sum / numbers_in<T>(p, *b.node);
    });
  });
}

template <class T>
void avg_pool2d_backward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; !b.accumulate && i < b.to.shape.area(); ++i) to[i] = 0;
    for_each_window(b.to.shape, b.dy.shape, b.node->window, [&](long long at, pool_patch const& p) {
      T const share = from[at] / numbers_in<T>(p, *b.node);
      p.for_each([&](long long pixel, int, int) { to[pixel] += share; });
    });
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::max_pool2d>{
    .forward = max_pool2d_forward<T>, .backward = max_pool2d_backward<T>, .parts = parts_of::channels};
template <class T>
inline constexpr loops<T> loops_for<T, op::avg_pool2d>{
    .forward = avg_pool2d_forward<T>, .backward = avg_pool2d_backward<T>, .parts = parts_of::channels};

}  // namespace dsl::plain::TYPENET_MODE
