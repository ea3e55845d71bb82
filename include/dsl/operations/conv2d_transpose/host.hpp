// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/operations/conv2d/host.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Runs the passes of conv2d with the roles of input and output exchanged.
template <class T>
void conv2d_transpose_forward(host::bound_step<T> const& b, step_context const&) {
  conv2d_backward_data<T>(b.x, b.parameter(role::kernel), b.to, b.node->window, false, b.node->groups);
  T const* const bias = b.parameter(role::bias);
  for_each_channel(b.to, [&](int n, int c) {
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; bias && i < b.to.shape.area(); ++i) out[i] += bias[c];
  });
}

template <class T>
void conv2d_transpose_backward_weights(host::bound_step<T> const& b, step_context const&) {
  conv2d_backward_weights<T>(b.dy, b.x, b.gradient(role::kernel), nullptr, b.node->window, b.node->groups);
  for (int c = 0; b.gradient(role::bias) && c < b.dy.shape.channels; ++c) {
    double sum = 0;
    for (int n = 0; n < b.dy.batch; ++n) {
      auto const dy = b.dy.pixels(n, c);
      for (long long i = 0; i < b.dy.shape.area(); ++i) sum += static_cast<double>(dy[i]);
    }
    b.gradient(role::bias)[c] = static_cast<T>(sum);
  }
}

/// Computes dx as conv2d_forward without a bias. If another step has begun to write the gradient, the result is added
/// to it.
template <class T>
void conv2d_transpose_backward_data(host::bound_step<T> const& b, step_context const&) {
  window const& w = b.node->window;
  int const stride = w.columns().stride;
  channel_groups const group(b.dy.shape.channels, b.to.shape.channels, b.node->groups);
  T const* const kernel = b.parameter(role::kernel);
  for_each_channel(b.to, [&](int n, int o) {
    auto const to = b.to.pixels(n, o);
    for (long long i = 0; !b.accumulate && i < b.to.shape.area(); ++i) to[i] = 0;
    T const* k = kernel + 1LL * o * group.in * w.height * w.width;
    for (int c = 0; c < group.in; ++c) {
      auto const dy = b.dy.pixels(n, o / group.out * group.in + c);
      for (int kh = 0; kh < w.height; ++kh)
        for (int kw = 0; kw < w.width; ++kw, ++k)
          for_each_row(dy.first, to.first, dy.step, to.step, b.dy.shape, b.to.shape, w, kh, kw,
                       [&](T const* from, T* at, int first, int last, int shift) {
                         for (int j = first; j < last; ++j)
                           at[j * to.step] += *k * from[(1LL * j * stride + shift) * dy.step];
                       });
    }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::conv2d_transpose>{.forward = conv2d_transpose_forward<T>,
                                                             .backward_weights = conv2d_transpose_backward_weights<T>,
                                                             .backward_data = conv2d_transpose_backward_data<T>,
                                                             .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
