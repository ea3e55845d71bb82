// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns max(0, min(6, x)); NaN stays NaN.
template <class T>
T up_to_6(T x) {
  return x < 0 ? T(0) : x > 6 ? T(6) : x;
}

/// Returns `slope` if the output y is strictly between 0 and `most`, otherwise 0.
template <class T>
T slope_inside(T y, T most, T slope) {
  return y > 0 && y < most ? slope : T(0);
}

inline constexpr double half_root = 0.70710678118654752440;  // sqrt(1 / 2)
inline constexpr double gelu_scale = 1.5957691216057307118;  // 2 sqrt(2 / pi)
inline constexpr double gelu_cubic = 0.044715;
inline constexpr double bell_height = 0.39894228040143267794;  // 1 / sqrt(2 pi)

/// Returns the part of a normal distribution that is below x.
template <class T>
T normal_share(T x) {
  return T(0.5) * detail::erfc(-x * static_cast<T>(half_root));
}

/// Returns log(1 + e^x), without overflow.
template <class T>
T soft_ramp(T x) {
  return (x > 0 ? x : T(0)) + detail::log1p(detail::exp(x > 0 ? -x : x));
}

template <class T>
T logistic(T x) {
  return T(1) / (T(1) + detail::exp(-x));
}

/// Returns the argument of the logistic function in gelu_tanh: 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
T gelu_argument(T x) {
  return static_cast<T>(gelu_scale) * (x + static_cast<T>(gelu_cubic) * x * x * x);
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
    case function::gelu: return x * normal_share(x);
    case function::gelu_tanh: return x * logistic(gelu_argument(x));
    case function::mish: return x * detail::tanh(soft_ramp(x));
    case function::softplus: return soft_ramp(x);
    case function::hard_tanh: return x < -1 ? T(-1) : x > 1 ? T(1) : x;
  }
  return x;
}

/// Returns a function's derivative at the input x, where its output is y. Only one of x and y is used, depending on the
/// function's entry in `activations`.
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
    case function::gelu: return normal_share(x) + x * static_cast<T>(bell_height) * detail::exp(x * x * T(-0.5));
    case function::gelu_tanh: {
      T const s = logistic(gelu_argument(x));
      if (s == T(0) || s == T(1)) return s;  // else 0 times an x^2 that has overflowed
      return s + x * s * (T(1) - s) * static_cast<T>(gelu_scale) * (T(1) + static_cast<T>(3 * gelu_cubic) * x * x);
    }
    case function::mish: {
      T const t = detail::tanh(soft_ramp(x));
      return t + x * (T(1) - t * t) * logistic(x);
    }
    case function::softplus: return logistic(x);
    case function::hard_tanh: return y > -1 && y < 1 ? T(1) : T(0);
  }
  return T(1);
}

/// Computes the function of each number. y may be the same memory as x.
template <class T>
void activation_forward(view<T const> const& x, view<T> const& y, function f, T alpha) {
  for_each_channel(y, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < y.shape.area(); ++i) out[i] = apply(f, in[i], alpha);
  });
}

/// Computes the gradient from x, which is the activation's output or its input, depending on the function's entry in
/// `activations`. dx may be the same memory as dy.
template <class T>
void activation_backward(view<T const> const& x, view<T const> const& dy, view<T> const& dx, function f, T alpha,
                         bool accumulate) {
  for_each_channel(dx, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const from = dy.pixels(n, c);
    auto const to = dx.pixels(n, c);
    for (long long i = 0; i < dx.shape.area(); ++i)
      add_to(to[i], from[i] * derivative(f, in[i], in[i], alpha), accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::activation>{
    .forward =
        [](host::bound_step<T> const& b, step_context const&) {
          activation_forward(b.x, b.to, b.node->function, static_cast<T>(b.node->rate));
        },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          activation_backward(b.x, b.dy, b.to, b.node->function, static_cast<T>(b.node->rate), b.accumulate);
        },
    .parts = parts_of::channels};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <class Device>
task function_task(Device& at, bound_step<float> const& b) {
  int const L = at.lanes();
  view<float const> const dy = b.step->what == action::forward ? view<float const>{} : b.dy;
  if (!in_vectors(L, b.to, b.x, dy.data ? dy : b.x)) return {};
  bool const clears = b.to.block == L && b.to.shape.channels % L != 0 && !dy.data;  // some functions give 0 a value
  return [&at, f = b.node->function, alpha = static_cast<float>(b.node->rate), x = b.x, dy, to = b.to,
          accumulate = b.accumulate, count = vectors_of(b.to, L), clears] {
    at.run(to.batch, [&](int n) {
      at.vectors().activation(
          {f, alpha, sample_of(x, n), dy.data ? sample_of(dy, n) : nullptr, sample_of(to, n), count, accumulate});
      if (clears)
        zero_rest_of_block(view<float>{sample_of(to, n), to.shape, 1, to.block, to.buffer_channels - to.channel, 0});
    });
  };
}

template <>
struct step_task<op::activation> {
  template <operation_set Only, class Device>
  static task make(Device& at, bound_step<float> const& b) {
    if constexpr ((Only & detail::functions_but_relu) != 0)
      if (b.node->function != function::relu) return function_task(at, b);
    bool const forward = b.step->what == action::forward;
    return rows_task(at, b.to, b.accumulate, forward ? row_function::relu : row_function::relu_backward, b.x,
                     forward ? b.x : b.dy);
  }
};

}  // namespace dsl::host::TYPENET_MODE
