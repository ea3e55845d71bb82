// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Computes y (B, units) from x (B, features) and kernel (units, features).
template <class T>
void dense_forward(view<T const> x, T const* kernel, T const* bias, view<T> y) {
  for (int n = 0; n < y.batch; ++n)
    for (int u = 0; u < y.shape.channels; ++u) {
      T sum = bias[u];
      for (int c = 0; c < x.shape.channels; ++c) sum += kernel[1LL * u * x.shape.channels + c] * x(n, c, 0);
      y(n, u, 0) = sum;
    }
}

template <class T>
void dense_backward_weights(view<T const> x, view<T const> dy, T* dkernel, T* dbias) {
  int const features = x.shape.channels;
  for (int u = 0; u < dy.shape.channels; ++u) {
    for (int c = 0; c < features; ++c) {
      T sum = 0;
      for (int n = 0; n < x.batch; ++n) sum += dy(n, u, 0) * x(n, c, 0);
      dkernel[1LL * u * features + c] = sum;
    }
    T sum = 0;
    for (int n = 0; n < x.batch; ++n) sum += dy(n, u, 0);
    dbias[u] = sum;
  }
}

template <class T>
void dense_backward_data(view<T const> dy, T const* kernel, view<T> dx, bool accumulate) {
  for (int n = 0; n < dx.batch; ++n)
    for (int c = 0; c < dx.shape.channels; ++c) {
      T sum = 0;
      for (int u = 0; u < dy.shape.channels; ++u) sum += kernel[1LL * u * dx.shape.channels + c] * dy(n, u, 0);
      add_to(dx(n, c, 0), sum, accumulate);
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::dense>{
    .forward =
        [](host::bound_step<T> const& b, step_context const&) {
          dense_forward<T>(b.x, b.parameter(role::kernel), b.parameter(role::bias), b.to);
        },
    .backward_weights =
        [](host::bound_step<T> const& b, step_context const&) {
          dense_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias));
        },
    .backward_data =
        [](host::bound_step<T> const& b, step_context const&) {
          dense_backward_data<T>(b.dy, b.parameter(role::kernel), b.to, b.accumulate);
        }};

}  // namespace dsl::plain::TYPENET_MODE
