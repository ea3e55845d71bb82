// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/plain_batch_norm.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
batch_norm_parameters<T> batch_norm_operands_of(host::bound_step<T> const& b) {
  return {b.parameter(role::gamma), b.parameter(role::beta), b.parameter(role::moving_mean),
          b.parameter(role::moving_variance), b.parameter(role::bias)};
}

/// Normalises with the mean and variance of this engine's samples. If those of the whole batch are needed, a tower does
/// this instead.
template <class T>
inline constexpr loops<T> loops_for<T, op::batch_norm>{
    .forward =
        [](host::bound_step<T> const& b, step_context const& c) {
          bool const relu = b.step->activation >= 0;
          if (b.step->again && b.statistics)
            return batch_norm_again<T>(b.x, batch_norm_operands_of(b), b.statistics, b.to, relu);
          batch_norm_forward(b.x, batch_norm_operands_of(b), b.statistics, b.to, b.node->epsilon, c.momentum,
                             c.unbiased, relu);
        },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          if (b.node->frozen)
            return frozen_batch_norm_backward(b.dy, batch_norm_operands_of(b), b.to, b.node->epsilon, b.accumulate);
          batch_norm_gradient<T> const d{b.x, b.dy, b.statistics, b.parameter(role::gamma), b.parameter(role::beta)};
          T *const dgamma = b.gradient(role::gamma), *const dbeta = b.gradient(role::beta);
          batch_norm_sums(d, dgamma, dbeta);
          T const count = static_cast<T>(b.x.batch) * static_cast<T>(b.x.shape.area());
          if (b.to.data) batch_norm_backward_data<T>(d, dgamma, dbeta, count, b.to, b.accumulate);
        }};

}  // namespace dsl::plain::TYPENET_MODE
