// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>
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

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::max_pool2d> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& b) {
    bool const forward = b.step->what == action::forward, mean = b.node->kind == op::avg_pool2d;
    view<float const> const& from = forward ? b.x : b.dy;
    int const L = at.lanes();
    if (b.argmax.wide.data || !from.data || !in_blocks(from, L) || !in_blocks(b.to, L)) return {};
    vector_kernels const& k = at.vectors();
    auto const run =
        mean ? (forward ? k.average_pool : k.average_pool_gradient) : (forward ? k.max_pool : k.max_pool_gradient);
    pool_call const c{.argmax = b.argmax.narrow.data,
                      .in = forward ? from.shape : b.to.shape,
                      .out = forward ? b.to.shape : from.shape,
                      .window = b.node->window,
                      .accumulate = b.accumulate,
                      .counts_padding = b.node->counts_padding};
    return [&at, run, c, from, to = b.to, L] {
      int const blocks = blocks_of(to.shape.channels, L);
      at.run(to.batch * blocks, [&](int i) {
        pool_call one = c;
        one.from = sample_of(from, i / blocks) + i % blocks * L * from.shape.area();
        one.to = sample_of(to, i / blocks) + i % blocks * L * to.shape.area();
        if (one.argmax) one.argmax += i * L * c.out.area();
        run(one);
      });
    };
  }
};
template <>
struct step_task<op::avg_pool2d> : step_task<op::max_pool2d> {};

}  // namespace dsl::host::TYPENET_MODE
