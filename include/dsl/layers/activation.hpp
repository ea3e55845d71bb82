// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {
namespace detail {

template <function F, number Alpha = 0.0>
struct activation {
  static constexpr value lower(builder& b, value in) {
    b.require(Alpha >= 0 && Alpha < 1e30, {.broken = rule::slope_is_not_negative, .number = Alpha});
    return b.append({.kind = op::activation, .function = F, .rate = Alpha}, in, in.shape);
  }
};

}  // namespace detail

/// Computes max(x, 0).
struct relu : detail::activation<function::relu> {};
/// Computes x if x > 0, otherwise Alpha x. leaky_relu<> uses Keras's default for Alpha, 0.3.
template <number... Alpha>
  requires(sizeof...(Alpha) <= 1)
struct leaky_relu : detail::activation<function::leaky_relu, detail::number_at<Alpha...>(0, 0.3)> {};
/// Computes x if x > 0, otherwise Alpha (e^x - 1). elu<> uses Keras's default for Alpha, 1.
template <number... Alpha>
  requires(sizeof...(Alpha) <= 1)
struct elu : detail::activation<function::elu, detail::number_at<Alpha...>(0, 1)> {};
/// Computes 1 / (1 + e^-x).
struct sigmoid : detail::activation<function::sigmoid> {};
/// Computes (e^x - e^-x) / (e^x + e^-x).
struct tanh : detail::activation<function::tanh> {};
/// Computes x sigmoid(x), also called swish.
struct silu : detail::activation<function::silu> {};
/// Computes max(0, min(6, x)).
struct relu6 : detail::activation<function::relu6> {};
/// Computes relu6(x + 3) / 6, as in MobileNetV3.
struct hard_sigmoid : detail::activation<function::hard_sigmoid> {};
/// Computes x relu6(x + 3) / 6.
struct hard_swish : detail::activation<function::hard_swish> {};
/// Computes x Phi(x), where Phi is the cumulative normal distribution (Hendrycks & Gimpel 2016), like PyTorch's
/// nn.GELU.
struct gelu : detail::activation<function::gelu> {};
/// Computes x sigmoid(1.5958 (x + 0.044715 x^3)), which approximates gelu. It is PyTorch's nn.GELU("tanh").
struct gelu_tanh : detail::activation<function::gelu_tanh> {};
/// Computes x tanh(log(1 + e^x)) (Misra 2019).
struct mish : detail::activation<function::mish> {};
/// Computes log(1 + e^x).
struct softplus : detail::activation<function::softplus> {};
/// Computes max(-1, min(1, x)), like PyTorch's nn.Hardtanh().
struct hard_tanh : detail::activation<function::hard_tanh> {};

}  // namespace dsl
