// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/dropout.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

#include <cmath>

namespace dsl::plain {

template <class T>
T apply(function f, T x, T alpha) {
  switch (f) {
    case function::relu: return x < 0 ? T(0) : x;  // a NaN stays one
    case function::leaky_relu: return x > 0 ? x : alpha * x;
    case function::elu: return x > 0 ? x : alpha * std::expm1(x);
    case function::sigmoid: return T(1) / (T(1) + std::exp(-x));
    case function::tanh: return std::tanh(x);
    case function::silu: return x / (T(1) + std::exp(-x));
  }
  return x;
}

/// The derivative where the output was y; silu's from the input x.
template <class T>
T derivative(function f, T x, T y, T alpha) {
  switch (f) {
    case function::relu: return y > 0 ? T(1) : T(0);
    case function::leaky_relu: return y > 0 ? T(1) : alpha;
    case function::elu: return y > 0 ? T(1) : y + alpha;
    case function::sigmoid: return y * (T(1) - y);
    case function::tanh: return T(1) - y * y;
    case function::silu: {
      T const s = T(1) / (T(1) + std::exp(-x));
      return s * (T(1) + x * (T(1) - s));
    }
  }
  return T(1);
}

/// Calls f(n, c, pixel) for every value of a batch.
template <class T, class F>
void for_each(view<T> const& v, F f) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = 0; c < v.shape.channels; ++c)
      for (long long i = 0; i < v.shape.area(); ++i) f(n, c, i);
}

template <class T>
void add_to(T& to, T value, bool accumulate) {
  to = accumulate ? to + value : value;
}

/// Kept values are divided by 1 - rate. The backward pass draws the same numbers again. y may be x.
template <class T>
void dropout(view<T const> x, view<T> y, dropout_draw const& draw, bool accumulate) {
  T const scale = T(1) / (T(1) - static_cast<T>(draw.rate));
  detail::philox_block four{};
  for_each(y, [&](int n, int c, long long i) {
    auto const element = static_cast<std::uint32_t>(c * y.shape.area() + i);  // counts up by one
    if (element % 4 == 0) four = draw.four(static_cast<std::uint32_t>(n), element / 4);
    add_to(y(n, c, i), draw.keeps(four.x[element % 4]) ? x(n, c, i) * scale : T(0), accumulate);
  });
}

template <class T>
void softmax_forward(view<T const> x, view<T> y) {
  for (int n = 0; n < y.batch; ++n) {
    T largest = x(n, 0, 0);
    for (int c = 1; c < x.shape.channels; ++c)
      if (x(n, c, 0) > largest) largest = x(n, c, 0);
    T sum = 0;
    for (int c = 0; c < x.shape.channels; ++c) sum += y(n, c, 0) = std::exp(x(n, c, 0) - largest);
    for (int c = 0; c < x.shape.channels; ++c) y(n, c, 0) /= sum;
  }
}

template <class T>
void softmax_backward(view<T const> y, view<T const> dy, view<T> dx, bool accumulate) {
  for (int n = 0; n < y.batch; ++n) {
    T product = 0;
    for (int c = 0; c < y.shape.channels; ++c) product += y(n, c, 0) * dy(n, c, 0);
    for (int c = 0; c < y.shape.channels; ++c) add_to(dx(n, c, 0), y(n, c, 0) * (dy(n, c, 0) - product), accumulate);
  }
}

/// y is (B, units), x (B, features), kernel (units, features).
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

}  // namespace dsl::plain
