// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

#include <cstdint>

namespace dsl::plain {

template <class T>
view<T const> read_only(view<T> const& v) {
  return {v.data, v.shape, v.batch, v.block, v.buffer_channels, v.channel};
}

template <class T>
T apply(function f, T x, T alpha) {
  switch (f) {
    case function::relu: return x < 0 ? T(0) : x;  // a NaN stays one
    case function::leaky_relu: return x > 0 ? x : alpha * x;
    case function::elu: return x > 0 ? x : alpha * detail::expm1(x);
    case function::sigmoid: return T(1) / (T(1) + detail::exp(-x));
    case function::tanh: return detail::tanh(x);
    case function::silu: return x / (T(1) + detail::exp(-x));
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
      T const s = T(1) / (T(1) + detail::exp(-x));
      return s * (T(1) + x * (T(1) - s));
    }
  }
  return T(1);
}

/// Calls f(n, c) for every channel of every sample.
template <class T, class F>
void for_each_channel(view<T> const& v, F f) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = 0; c < v.shape.channels; ++c) f(n, c);
}

template <class T>
[[gnu::cold]] void add_to(T& to, T value, bool accumulate) {
  to = accumulate ? to + value : value;
}

/// to = x, or to += x. `to` may be x.
template <class T>
[[gnu::cold]] void copy(view<T const> const& x, view<T> const& to, bool accumulate) {
  for_each_channel(to, [&](int n, int c) {
    auto const from = x.pixels(n, c);
    auto const out = to.pixels(n, c);
    for (long long i = 0; i < to.shape.area(); ++i) add_to(out[i], from[i], accumulate);
  });
}

/// y may be x.
template <class T>
[[gnu::cold]] void activation_forward(view<T const> const& x, view<T> const& y, function f, T alpha) {
  for_each_channel(y, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < y.shape.area(); ++i) out[i] = apply(f, in[i], alpha);
  });
}

/// x is the activation's output, or silu's input; dx may be dy.
template <class T>
[[gnu::cold]] void activation_backward(view<T const> const& x, view<T const> const& dy, view<T> const& dx, function f,
                                       T alpha, bool accumulate) {
  for_each_channel(dx, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const from = dy.pixels(n, c);
    auto const to = dx.pixels(n, c);
    for (long long i = 0; i < dx.shape.area(); ++i)
      add_to(to[i], from[i] * derivative(f, in[i], in[i], alpha), accumulate);
  });
}

/// Kept values are divided by 1 - rate. The backward pass draws the same numbers again. y may be x.
template <class T>
[[gnu::cold]] void dropout(view<T const> x, view<T> y, dropout_draw const& draw, bool accumulate) {
  T const scale = T(1) / (T(1) - static_cast<T>(draw.rate));
  detail::philox_block four{};
  for_each_channel(y, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < y.shape.area(); ++i) {
      auto const element = static_cast<std::uint32_t>(c * y.shape.area() + i);  // counts up by one
      if (element % 4 == 0) four = draw.four(static_cast<std::uint32_t>(n), element / 4);
      add_to(out[i], draw.keeps(four.x[element % 4]) ? in[i] * scale : T(0), accumulate);
    }
  });
}

/// Flatten where the layouts differ: the i-th value in (channel, row, column) order stays the i-th.
template <class T>
[[gnu::cold]] void reshape(view<T const> from, view<T> to, bool accumulate) {
  long long const from_area = from.shape.area();
  long long const to_area = to.shape.area();
  for (int n = 0; n < to.batch; ++n)
    for (long long i = 0; i < to.shape.size(); ++i)
      add_to(to(n, static_cast<int>(i / to_area), i % to_area), from(n, static_cast<int>(i / from_area), i % from_area),
             accumulate);
}

template <class T>
[[gnu::cold]] void softmax_forward(view<T const> x, view<T> y) {
  for (int n = 0; n < y.batch; ++n) {
    T largest = x(n, 0, 0);
    for (int c = 1; c < x.shape.channels; ++c)
      if (x(n, c, 0) > largest) largest = x(n, c, 0);
    T sum = 0;
    for (int c = 0; c < x.shape.channels; ++c) sum += y(n, c, 0) = detail::exp(x(n, c, 0) - largest);
    for (int c = 0; c < x.shape.channels; ++c) y(n, c, 0) /= sum;
  }
}

template <class T>
[[gnu::cold]] void softmax_backward(view<T const> y, view<T const> dy, view<T> dx, bool accumulate) {
  for (int n = 0; n < y.batch; ++n) {
    T product = 0;
    for (int c = 0; c < y.shape.channels; ++c) product += y(n, c, 0) * dy(n, c, 0);
    for (int c = 0; c < y.shape.channels; ++c) add_to(dx(n, c, 0), y(n, c, 0) * (dy(n, c, 0) - product), accumulate);
  }
}

}  // namespace dsl::plain
