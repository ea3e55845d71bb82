// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/activation.hpp>
#include <dsl/operations/activation/function.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// The arguments for applying an activation to `count` consecutive vectors or, if dy is given, for computing its
/// gradient. For the gradient, x is either the activation's output or its input, depending on the function's row in
/// operations/activation/facts.hpp.
struct activation_call {
  dsl::function function = dsl::function::relu;
  float alpha = 0;
  float const* x = nullptr;
  float const* dy = nullptr;
  float* to = nullptr;  // may be x or dy
  long long count = 0;
  bool accumulate = false;
};

/// Computes the argument of gelu's approximation: v = 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <int L>
[[gnu::always_inline]] inline void gelu_argument(typename vector<L>::type& v, typename vector<L>::type const& x) {
  using floats = typename vector<L>::type;
  floats const none{}, scale = 1.59576912F - none, cubic = 0.0713548163F - none;
  floats square, factor = scale;
  multiply<L>(square, x, x);
  multiply_add<L>(factor, square, cubic);
  multiply<L>(v, x, factor);
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
    floats const none{};
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
      hyperbolic_tangent<L>(y, x);
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
    } else if (f == dsl::function::gelu) {
      floats share;
      normal_distribution<L>(share, e, x);
      multiply<L>(y, x, share);
      y = x < none - 14.0F ? none : y;
    } else if (f == dsl::function::gelu_tanh) {
      floats argument;
      gelu_argument<L>(argument, x);
      logistic<L>(e, argument);
      multiply<L>(y, x, e);
      y = x < none - 14.0F ? none : y;
    } else if (f == dsl::function::mish) {
      floats part, rest;
      tanh_of_soft_ramp(x, part, rest);
      multiply<L>(y, x, part);
      y = x < none - 88.0F ? none : y;
    } else if (f == dsl::function::softplus) {
      soft_ramp<L>(y, x);
    } else if (f == dsl::function::hard_tanh) {
      floats const one = 1.0F - none;
      y = x > one ? one : x;
      y = y < -one ? -one : y;
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
  /// Computes part = tanh(log(1 + e^x)) = w / (w + 2) with w = e^x (e^x + 2), and rest, its derivative 4 e^x (1 + e^x)
  /// / (w + 2)^2. Above x = 20, `part` is 1 and `rest` is nearly 0.
  [[gnu::always_inline]] static inline void tanh_of_soft_ramp(floats const& x, floats& part, floats& rest) {
    floats const none{}, one = 1.0F - none, two = 2.0F - none, most = 20.0F - none;
    floats const held = x > most ? most : x;
    floats e, w, twice;
    exponential<L>(e, held);
    floats const sum = e + two, next = e + one, four = e + e + e + e;
    multiply<L>(w, e, sum);
    floats const below = w + two;
    part = w / below;
    multiply<L>(twice, four, next);
    rest = twice / below / below;
  }
  /// Computes a function's derivative from x, which is the function's output or its input, depending on the function's
  /// entry in activation/facts.hpp.
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
    } else if (f == dsl::function::gelu) {
      floats share, bell, height, limit = 14.0F - none;
      normal_distribution<L>(share, bell, x);
      height = 0.398942280F - none;
      multiply<L>(slope, bell, height);
      multiply<L>(height, x, slope);
      slope = height + share;
      slope = x > limit ? one : slope;
      slope = x < -limit ? none : slope;
    } else if (f == dsl::function::gelu_tanh) {
      floats v, s, square, product, limit = 14.0F - none;
      gelu_argument<L>(v, x);
      logistic<L>(s, v);
      floats const rest = one - s, cubic = 0.214064449F - none;
      floats inner = 1.59576912F - none;
      multiply<L>(square, x, x);
      multiply_add<L>(inner, square, cubic);
      multiply<L>(product, x, inner);
      multiply<L>(inner, product, rest);
      slope = s;
      multiply_add<L>(slope, s, inner);
      slope = x > limit ? one : slope;
      slope = x < -limit ? none : slope;
    } else if (f == dsl::function::mish) {
      floats part, rest, most = 20.0F - none;
      tanh_of_soft_ramp(x, part, rest);
      slope = part;
      multiply_add<L>(slope, x, rest);
      slope = x > most ? one : slope;
      slope = x < none - 88.0F ? none : slope;
    } else if (f == dsl::function::softplus) {
      logistic<L>(slope, x);
    } else if (f == dsl::function::hard_tanh) {
      floats const below = x < one ? one : none;
      slope = x > -one ? below : none;
    } else {
      slope = x > none ? one : none;
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
