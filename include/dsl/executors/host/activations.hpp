// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>
#include <dsl/graph/node.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for an activation of `count` consecutive vectors; with dy its gradient, where x is the activation's
/// output, or silu's or hard_swish's input.
struct activation_call {
  dsl::function function = dsl::function::relu;
  float alpha = 0;
  float const* x = nullptr;
  float const* dy = nullptr;
  float* to = nullptr;  // may be x or dy
  long long count = 0;
  bool accumulate = false;
};

/// y = exp(x) - 1: x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) - 1 by its Taylor series up to r^7, whose remainder is
/// below 2^-25 r; then times 2^n. x is first clamped to -87 ... 88: below, the result is -1 to a float's last place;
/// above, it is 1.7e38 or more. A NaN stays NaN.
template <int L>
[[gnu::always_inline]] inline void exp_minus_1(typename vector<L>::type& y, typename vector<L>::type const& of) {
  using floats = typename vector<L>::type;
  using ints = typename vector<L>::ints;
  floats const none{}, highest = 88.0F - none, lowest = -87.0F - none;
  floats x = of > highest ? highest : of;
  x = x < lowest ? lowest : x;
  x = of != of ? none : x;                                              // NaN has no integer
  floats const per_log = 1.44269504F - none, round = 0x1.8p23F - none;  // the unit in the last place of `round` is 1
  floats n = round;
  multiply_add<L>(n, x, per_log);
  n -= round;
  floats r = x;
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
  floats const power = reinterpret_cast<floats>(bits);
  y = power - (1.0F - none);
  multiply_add<L>(y, power, r);
  y = of != of ? of : y;
}

/// y = 1 / (1 + exp(-x)).
template <int L>
[[gnu::always_inline]] inline void logistic(typename vector<L>::type& y, typename vector<L>::type const& x) {
  typename vector<L>::type const none{}, minus = -x;
  typename vector<L>::type e;
  exp_minus_1<L>(e, minus);
  y = (1.0F - none) / (e + (2.0F - none));
}

template <int L>
struct activation {
  using call = activation_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    floats const none{}, one = 1.0F - none, alpha = c.alpha - none;
    for (long long i = 0; i < c.count * L; i += L) {
      floats x, y, other;
      load<L>(x, c.x + i);
      if (c.dy) {
        floats slope;
        derivative(c.function, alpha, x, slope);
        load<L>(other, c.dy + i);
        multiply<L>(y, other, slope);
        if (c.accumulate) {
          load<L>(other, c.to + i);
          multiply_add<L>(other, y, one);  // a sum that is not fused with anything
          y = other;
        }
      } else {
        value(c.function, alpha, x, y);
      }
      store<L>(c.to + i, y);
    }
  }

 private:
  [[gnu::always_inline]] static inline void value(dsl::function f, floats const& alpha, floats const& x, floats& y) {
    floats const none{}, two = 2.0F - none;
    floats e;
    if (f == dsl::function::leaky_relu) {
      multiply<L>(e, x, alpha);
      y = x > none ? x : e;
    } else if (f == dsl::function::elu) {
      exp_minus_1<L>(e, x);
      multiply<L>(y, e, alpha);
      y = x > none ? x : y;
    } else if (f == dsl::function::sigmoid) {
      logistic<L>(y, x);
    } else if (f == dsl::function::tanh) {
      // tanh x = (exp 2x - 1) / (exp 2x + 1) of |x|; the quotient cannot overflow because 2x is limited.
      floats const magnitude = x < none ? -x : x, most = 20.0F - none;
      floats const twice = magnitude > most ? two * most : magnitude + magnitude;
      exp_minus_1<L>(e, twice);
      y = e / (e + two);
      y = x < none ? -y : y;
    } else if (f == dsl::function::silu) {
      logistic<L>(e, x);
      multiply<L>(y, x, e);
      y = x < none - 88.0F ? none : y;  // where the logistic is clamped and x may be anything
    } else if (f == dsl::function::relu6) {
      up_to_6(x, y);
    } else if (f == dsl::function::hard_sigmoid) {
      hard_logistic(x, y);
    } else if (f == dsl::function::hard_swish) {
      hard_logistic(x, e);
      multiply<L>(y, x, e);
      y = x < none - 3.0F ? none : y;
    } else {
      y = x;
      clamp_below<L>(y);
    }
  }
  [[gnu::always_inline]] static inline void up_to_6(floats const& x, floats& y) {
    floats const none{}, six = 6.0F - none;
    y = x;
    clamp_below<L>(y);
    y = y > six ? six : y;
  }
  [[gnu::always_inline]] static inline void hard_logistic(floats const& x, floats& y) {
    floats const none{}, three = 3.0F - none, six = 6.0F - none;
    floats const sum = x + three;
    up_to_6(sum, y);
    y = y / six;
  }
  /// The derivative at the output x; silu's and hard_swish's at their input.
  [[gnu::always_inline]] static inline void derivative(dsl::function f, floats const& alpha, floats const& x,
                                                       floats& slope) {
    floats const none{}, one = 1.0F - none, minus = -x;
    slope = one;
    if (f == dsl::function::leaky_relu) {
      slope = x > none ? one : alpha;
    } else if (f == dsl::function::elu) {
      slope = x > none ? one : x + alpha;
    } else if (f == dsl::function::sigmoid) {
      slope = x;
      multiply_add<L>(slope, minus, x);
    } else if (f == dsl::function::tanh) {
      multiply_add<L>(slope, minus, x);
    } else if (f == dsl::function::silu) {
      floats s, sum = one;
      logistic<L>(s, x);
      floats const rest = one - s;
      multiply_add<L>(sum, x, rest);
      multiply<L>(slope, sum, s);
      slope = x < none - 88.0F ? none : slope;
    } else if (f == dsl::function::relu6) {
      floats const six = 6.0F - none, below = x < six ? one : none;
      slope = x > none ? below : none;
    } else if (f == dsl::function::hard_sigmoid) {
      floats const sixth = 1.0F / 6 - none, below = x < one ? sixth : none;
      slope = x > none ? below : none;
    } else if (f == dsl::function::hard_swish) {
      floats const three = 3.0F - none, third = 1.0F / 3 - none;
      slope = 0.5F - none;
      multiply_add<L>(slope, x, third);
      slope = x > three ? one : slope;
      slope = x < -three ? none : slope;
    } else {
      slope = x > none ? one : none;
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
