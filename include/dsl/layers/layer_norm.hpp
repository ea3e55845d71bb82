// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Layer normalisation (Ba et al. 2016), layer_norm<Epsilon = 1e-5>, over the channels of each pixel, as in Keras and
/// ConvNeXt, or over all values of a flat input. The default epsilon is that of PyTorch and ONNX; Keras's is 1e-3.
template <number... Epsilon>
  requires(sizeof...(Epsilon) <= 1)
struct layer_norm {
  static constexpr double epsilon = detail::number_at<Epsilon...>(0, 1e-5);

  static constexpr value lower(builder& b, value in) {
    b.require(epsilon >= 1e-30 && epsilon < 1e30, {.broken = rule::epsilon_is_positive, .number = epsilon});
    for (role r : {role::gamma, role::beta}) b.parameter({.role = r, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::layer_norm, .epsilon = epsilon}, in, in.shape);
  }
};
// layer_norm<> on 64x8x8 -> 64x8x8, with 2 x 64 parameters

/// Divides by the root mean square (Zhang & Sennrich 2019), rms_norm<Epsilon = 1.1920929e-7>: gamma x / sqrt(mean(x^2)
/// + Epsilon), over the channels of each pixel or over all values of a flat input. The default epsilon is that of
/// PyTorch's nn.RMSNorm for float; ONNX's is 1e-5, and Keras's is 1e-6.
template <number... Epsilon>
  requires(sizeof...(Epsilon) <= 1)
struct rms_norm {
  static constexpr double epsilon = detail::number_at<Epsilon...>(0, 1.1920929e-7);

  static constexpr value lower(builder& b, value in) {
    b.require(epsilon >= 1e-30 && epsilon < 1e30, {.broken = rule::epsilon_is_positive, .number = epsilon});
    b.parameter({.role = role::gamma, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::rms_norm, .epsilon = epsilon}, in, in.shape);
  }
};
// rms_norm<> on 64x8x8 -> 64x8x8, with 64 parameters

}  // namespace dsl
