// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// max(0, min(6, x)); NaN stays NaN.
template <class T>
T up_to_6(T x) {
  return x < 0 ? T(0) : x > 6 ? T(6) : x;
}

/// Returns `slope` if the output y is strictly between 0 and `most`, otherwise 0.
template <class T>
T slope_inside(T y, T most, T slope) {
  return y > 0 && y < most ? slope : T(0);
}

template <class T>
T apply(function f, T x, T alpha) {
  switch (f) {
    case function::relu: return x < 0 ? T(0) : x;  // NaN stays NaN
    case function::leaky_relu: return x > 0 ? x : alpha * x;
    case function::elu: return x > 0 ? x : alpha * detail::expm1(x);
    case function::sigmoid: return T(1) / (T(1) + detail::exp(-x));
    case function::tanh: return detail::tanh(x);
    case function::silu: return x / (T(1) + detail::exp(-x));
    case function::relu6: return up_to_6(x);
    case function::hard_sigmoid: return up_to_6(x + T(3)) / T(6);
    case function::hard_swish: return x < -3 ? T(0) : x * (up_to_6(x + T(3)) / T(6));
  }
  return x;
}

/// Returns the derivative at the output y; silu's and hard_swish's at the input x.
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
    case function::relu6: return slope_inside(y, T(6), T(1));
    case function::hard_sigmoid: return slope_inside(y, T(1), T(1) / T(6));
    case function::hard_swish: return x < -3 ? T(0) : x > 3 ? T(1) : x / T(3) + T(0.5);
  }
  return T(1);
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

/// x is the activation's output, or silu's or hard_swish's input; dx may be dy.
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

template <class T>
inline constexpr loops<T> activation_loops{
    .forward =
        [](host::bound_step<T> const& b, step_context const&) {
          activation_forward(b.x, b.to, b.node->function, static_cast<T>(b.node->rate));
        },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          activation_backward(b.x, b.dy, b.to, b.node->function, static_cast<T>(b.node->rate), b.accumulate);
        }};

}  // namespace dsl::plain::TYPENET_MODE
