// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/view.hpp>

namespace dsl {
namespace detail {

/// Returns the facts that a custom operation declares, or the defaults, which are valid for any operation.
template <class Op>
constexpr operations::row facts_of_own() {
  if constexpr (requires { Op::facts; })
    return Op::facts;
  else
    return operations::custom;
}

template <class Op>
inline constexpr custom_op custom_op_of{Op::name,
                                        [](custom_call<float> const& c) { Op::forward(c); },
                                        [](custom_call<float> const& c) { Op::backward(c); },
                                        [](custom_call<double> const& c) { Op::forward(c); },
                                        [](custom_call<double> const& c) { Op::backward(c); },
                                        facts_of_own<Op>()};

template <class F>
concept has_value_and_derivative = requires {
  F::name;
  static_cast<float>(F::value(1.0F)), static_cast<float>(F::derivative(1.0F));
  static_cast<double>(F::value(1.0)), static_cast<double>(F::derivative(1.0));
};

/// Applies a function of one number, and its derivative, to whole tensors.
template <class F>
struct elementwise_op {
  static constexpr char const* name = F::name;

  template <class T>
  static void forward(custom_call<T> const& c) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long p = 0; p < c.x.shape.area(); ++p) c.y(n, k, p) = F::value(c.x(n, k, p));
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long p = 0; p < c.x.shape.area(); ++p) {
          T const d = c.dy(n, k, p) * F::derivative(c.x(n, k, p));
          c.dx(n, k, p) = c.accumulate ? c.dx(n, k, p) + d : d;
        }
  }
};

}  // namespace detail

/// A custom operation. Op has a name and, for float and double, these members:
///   static constexpr char const* name;
///   static constexpr dsl::shape output(dsl::shape input);
///   template <class T> static void forward(dsl::custom_call<T> const&);   // writes y from x
///   template <class T> static void backward(dsl::custom_call<T> const&);  // writes or adds to dx from x, y and dy
/// Op may also declare its facts, so that the plan stores fewer tensors: `static constexpr dsl::operations::row facts`,
/// starting from dsl::operations::custom. The functions do not receive a tensor that the facts do not list as read.
/// Custom operations run on the CPU executors.
template <class Op>
struct custom {
  static constexpr value lower(builder& b, value in) {
    return b.append({.kind = op::custom, .custom = &detail::custom_op_of<Op>}, in, Op::output(in.shape));
  }
};

/// A custom activation. F has a name, a function value(x) and its derivative(x).
template <class F>
struct elementwise {
  static constexpr value lower(builder& b, value in) {
    b.require(detail::has_value_and_derivative<F>, {.broken = rule::functions_have_a_derivative, .first = in.shape});
    if constexpr (detail::has_value_and_derivative<F>)
      return b.append({.kind = op::custom, .custom = &detail::custom_op_of<detail::elementwise_op<F>>}, in, in.shape);
    return in;
  }
};

}  // namespace dsl
