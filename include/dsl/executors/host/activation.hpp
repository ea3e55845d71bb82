// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Computes power and r with exp(x) = power (1 + r). x = n ln 2 + s with |s| <= ln 2 / 2; power is 2^n, and r is
/// exp(s) - 1 by its Taylor series up to s^7, whose remainder is below 2^-25 s. x is first clamped to -87 ... 88, and a
/// NaN is replaced by 0, since a NaN cannot be converted to an integer.
template <int L>
[[gnu::always_inline]] inline void exp_parts(typename vector<L>::type& power, typename vector<L>::type& r,
                                             typename vector<L>::type const& of) {
  using floats = typename vector<L>::type;
  using ints = typename vector<L>::ints;
  floats const none{}, highest = 88.0F - none, lowest = -87.0F - none;
  floats x = of > highest ? highest : of;
  x = x < lowest ? lowest : x;
  x = of != of ? none : x;  // NaN has no integer. NOLINT(misc-redundant-expression)
  floats const per_log = 1.44269504F - none, round = 0x1.8p23F - none;  // the unit in the last place of `round` is 1
  floats n = round;
  multiply_add<L>(n, x, per_log);
  n -= round;
  r = x;
  floats const high = -0.693359375F - none, low = 2.12194440e-4F - none;  // the first has 10 bits, so n high is exact
  multiply_add<L>(r, n, high);
  multiply_add<L>(r, n, low);
  floats series = 1.0F / 5040 - none, sum, square;
#pragma GCC unroll 5
  for (int i = 6; i > 1; --i) {
    sum = (i == 6 ? 1.0F / 720 : i == 5 ? 1.0F / 120 : i == 4 ? 1.0F / 24 : i == 3 ? 1.0F / 6 : 1.0F / 2) - none;
    multiply_add<L>(sum, series, r);
    series = sum;
  }
  multiply<L>(square, r, r);
  multiply_add<L>(r, square, series);
  ints const bits = (__builtin_convertvector(n, ints) + 127) << 23;
  power = reinterpret_cast<floats>(bits);
}

/// Computes y = exp(x) - 1. Below x = -87, y is -1 to a float's last place; above x = 88, y stays at 1.7e38. A NaN
/// stays NaN.
template <int L>
[[gnu::always_inline]] inline void exp_minus_1(typename vector<L>::type& y, typename vector<L>::type const& of) {
  using floats = typename vector<L>::type;
  floats const none{};
  floats power, r;
  exp_parts<L>(power, r, of);
  y = power - (1.0F - none);
  multiply_add<L>(y, power, r);
  y = of != of ? of : y;  // NOLINT(misc-redundant-expression): a NaN stays NaN
}

/// Computes y = exp(x), with x clamped to -87 ... 88 as above. A NaN stays NaN.
template <int L>
[[gnu::always_inline]] inline void exponential(typename vector<L>::type& y, typename vector<L>::type const& of) {
  using floats = typename vector<L>::type;
  floats power, r;
  exp_parts<L>(power, r, of);
  y = power;
  multiply_add<L>(y, power, r);
  y = of != of ? of : y;  // NOLINT(misc-redundant-expression)
}

/// Computes y = 1 / (1 + exp(-x)).
template <int L>
[[gnu::always_inline]] inline void logistic(typename vector<L>::type& y, typename vector<L>::type const& x) {
  typename vector<L>::type const none{}, minus = -x;
  typename vector<L>::type e;
  exp_minus_1<L>(e, minus);
  y = (1.0F - none) / (e + (2.0F - none));
}

/// Computes y = tanh(x) as (exp 2a - 1) / (exp 2a + 1) with a = |x| and the sign of x. 2a is limited to 40, so that the
/// quotient cannot overflow.
template <int L>
[[gnu::always_inline]] inline void hyperbolic_tangent(typename vector<L>::type& y, typename vector<L>::type const& x) {
  using floats = typename vector<L>::type;
  floats const none{}, two = 2.0F - none, most = 20.0F - none;
  floats const magnitude = x < none ? -x : x;
  floats const twice = magnitude > most ? two * most : magnitude + magnitude;
  floats e;
  exp_minus_1<L>(e, twice);
  y = e / (e + two);
  y = x < none ? -y : y;
}

/// Computes `share`, the part of a normal distribution that is below x, and `bell` = exp(-x^2 / 2). With z = |x| /
/// sqrt(2) and t = 1 / (1 + z / 2), the share below -|x| is exp(-z^2) t p(t). The polynomial p was fitted to erfc(z)
/// exp(z^2) / (2 t) for z up to 9.5, with a relative error of 3e-9. For larger z, where the share is below 1e-40, the
/// result is at most 1e-38.
template <int L>
[[gnu::always_inline]] inline void normal_distribution(typename vector<L>::type& share, typename vector<L>::type& bell,
                                                       typename vector<L>::type const& x) {
  using floats = typename vector<L>::type;
  floats const none{}, one = 1.0F - none, root = 0.353553391F - none, half = -0.5F - none;
  floats const magnitude = x < none ? -x : x;
  floats sum = one, square, exponent;
  multiply_add<L>(sum, magnitude, root);
  floats const t = one / sum;
  constexpr float p[] = {0.0171523158F, -0.091159496F, 0.179323874F, -0.127650088F, -0.0274200622F, 0.0281650022F,
                         0.0229749148F, 0.0940554575F, 0.12236603F,  0.141148774F,  0.141043278F};
  floats tail = p[0] - none;
#pragma GCC unroll 10
  for (int i = 1; i <= 10; ++i) {
    sum = p[i] - none;
    multiply_add<L>(sum, tail, t);
    tail = sum;
  }
  multiply<L>(square, x, x);
  multiply<L>(exponent, square, half);
  exponential<L>(bell, exponent);
  multiply<L>(sum, tail, t);
  multiply<L>(tail, sum, bell);
  share = x < none ? tail : one - tail;
}

/// Computes y = log(1 + exp(x)) = max(x, 0) + 2 atanh(s) with s = e / (2 + e) and e = exp(-|x|), by the series of atanh
/// up to s^15, whose relative error is below 2^-25 since s <= 1/3.
template <int L>
[[gnu::always_inline]] inline void soft_ramp(typename vector<L>::type& y, typename vector<L>::type const& x) {
  using floats = typename vector<L>::type;
  floats const none{}, two = 2.0F - none;
  floats const minus = x < none ? x : -x;
  floats e, square, sum;
  exponential<L>(e, minus);
  floats const s = e / (e + two);
  multiply<L>(square, s, s);
  floats series = 2.0F / 15 - none;
#pragma GCC unroll 6
  for (int i = 13; i > 1; i -= 2) {
    sum = 2.0F / static_cast<float>(i) - none;
    multiply_add<L>(sum, series, square);
    series = sum;
  }
  multiply<L>(sum, series, square);  // 2 atanh(s) / s - 2
  y = x > none ? x : none;
  multiply_add<L>(y, s, two);
  multiply_add<L>(y, s, sum);
}

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
