// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

namespace detail {

constexpr value lower_batch_norm(builder& b, value in, double momentum, double epsilon, bool has_scale) {
  b.require(epsilon >= 1e-30 && epsilon < 1e30, {.broken = rule::epsilon_is_positive, .number = epsilon});
  b.require_unless_intended(epsilon <= 0.1 || epsilon <= momentum,
                            {.broken = rule::epsilon_is_small, .number = epsilon});
  b.require(momentum >= 0 && momentum < 1, {.broken = rule::momentum_keeps_less_than_all, .number = momentum});
  for (role r : {role::gamma, role::beta, role::moving_mean, role::moving_variance}) {
    bool const constant = r == role::gamma && !has_scale;
    b.parameter({.role = r,
                 .dims = {in.shape.channels, 1, 1, 1},
                 .initial = {distribution::constant, 1},
                 .constant = constant});
  }
  return b.append({.kind = op::batch_norm, .epsilon = epsilon, .momentum = momentum}, in, in.shape);
}

}  // namespace detail

/// Batch normalisation over batch, height and width (Ioffe & Szegedy 2015): batch_norm<Momentum = 0.99, Epsilon =
/// 1e-3>, with Keras's defaults. Each step multiplies the running statistics by Momentum and adds the batch's
/// statistics times 1 - Momentum. Running variances are computed from the biased variance of the batch.
template <number... MomentumAndEpsilon>
  requires(sizeof...(MomentumAndEpsilon) <= 2)
struct batch_norm {
  static constexpr double momentum = detail::number_at<MomentumAndEpsilon...>(0, 0.99);
  static constexpr double epsilon = detail::number_at<MomentumAndEpsilon...>(1, 1e-3);

  static constexpr value lower(builder& b, value in) {
    return detail::lower_batch_norm(b, in, momentum, epsilon, true);
  }
};
// batch_norm<> on 64x8x8 -> 64x8x8, with 4 x 64 parameters of which 2 x 64 are trained

/// A batch_norm that only shifts the normalised channels, like Keras's BatchNormalization(scale=False). Its scale is
/// the constant 1, which is not counted as a parameter.
template <number... MomentumAndEpsilon>
  requires(sizeof...(MomentumAndEpsilon) <= 2)
struct unscaled_batch_norm {
  static constexpr double momentum = detail::number_at<MomentumAndEpsilon...>(0, 0.99);
  static constexpr double epsilon = detail::number_at<MomentumAndEpsilon...>(1, 1e-3);

  static constexpr value lower(builder& b, value in) {
    return detail::lower_batch_norm(b, in, momentum, epsilon, false);
  }
};
// unscaled_batch_norm<> on 64x8x8 -> 64x8x8, with 3 x 64 parameters of which 64 are trained

}  // namespace dsl
