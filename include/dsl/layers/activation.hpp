// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {
namespace detail {

template <function F, double Alpha = 0.0>
struct activation {
  static constexpr value lower(builder& b, value in) {
    b.require(Alpha >= 0 && Alpha < 1e30, {.broken = rule::slope_is_not_negative, .number = Alpha});
    return b.append({.kind = op::activation, .function = F, .rate = Alpha}, in, in.shape);
  }
};

}  // namespace detail

/// max(x, 0)
struct relu : detail::activation<function::relu> {};
/// x for x > 0, else Alpha x
template <double Alpha = 0.3>
struct leaky_relu : detail::activation<function::leaky_relu, Alpha> {};
/// x for x > 0, else Alpha (e^x - 1)
template <double Alpha = 1.0>
struct elu : detail::activation<function::elu, Alpha> {};
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

}  // namespace dsl
