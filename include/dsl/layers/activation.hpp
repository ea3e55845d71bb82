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

/// max(x, 0)
struct relu : detail::activation<function::relu> {};
/// x for x > 0, otherwise Alpha x
template <number... Alpha>
  requires(sizeof...(Alpha) <= 1)
struct leaky_relu : detail::activation<function::leaky_relu, detail::number_at<Alpha...>(0, 0.3)> {};
/// x for x > 0, otherwise Alpha (e^x - 1); leaky_relu<> and elu<> have Keras's defaults, 0.3 and 1
template <number... Alpha>
  requires(sizeof...(Alpha) <= 1)
struct elu : detail::activation<function::elu, detail::number_at<Alpha...>(0, 1)> {};
/// 1 / (1 + e^-x)
struct sigmoid : detail::activation<function::sigmoid> {};
/// (e^x - e^-x) / (e^x + e^-x)
struct tanh : detail::activation<function::tanh> {};
/// x sigmoid(x), also called swish
struct silu : detail::activation<function::silu> {};
/// max(0, min(6, x))
struct relu6 : detail::activation<function::relu6> {};
/// relu6(x + 3) / 6, as in MobileNetV3
struct hard_sigmoid : detail::activation<function::hard_sigmoid> {};
/// x relu6(x + 3) / 6
struct hard_swish : detail::activation<function::hard_swish> {};
/// x times the share of a normal distribution below x (Hendrycks & Gimpel 2016): PyTorch's nn.GELU
struct gelu : detail::activation<function::gelu> {};
/// x sigmoid(1.5958 (x + 0.044715 x^3)), nearly the same: PyTorch's nn.GELU("tanh")
struct gelu_tanh : detail::activation<function::gelu_tanh> {};
/// x tanh(log(1 + e^x)) (Misra 2019)
struct mish : detail::activation<function::mish> {};
/// log(1 + e^x)
struct softplus : detail::activation<function::softplus> {};

}  // namespace dsl
