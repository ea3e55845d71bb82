// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/engine.hpp>

/// Specs of kernels/weights.cuh.
namespace dsl::cu::kernels {

struct update_options {
  bool copies = false;  // the new weights also go to a working copy in T
  bool staged = false;  // some gradients are read from a staging arena in T
  int advance = 0;      // how far step_state::position moves
};

/// The optimizer's step on flat arenas of `count` numbers, with the bits of host::update, then step_state::step++. All
/// arenas have the same offsets. stage_map: a byte for every 16 numbers, not 0 where their gradient lies in `stage`.
/// Null: velocities without momentum, copy, stage and stage_map where the options don't ask for them.
///   launch(float* parameters, float const* gradients, float* velocities, T* copy, T const* stage,
///          unsigned char const* stage_map, step_state*)
inline kernel_spec update(storage t, update_rule const& rule, long long count, update_options const& o) {
  int const lanes = count % 4 == 0 ? 4 : 1;
  return detail::pointwise("update", t, count / lanes, detail::checked_count("update", count), lanes, rule.slots() > 0,
                           rule.nesterov, rule.rate_in_velocity, static_cast<float>(rule.momentum),
                           static_cast<float>(rule.weight_decay), o.copies, o.staged, o.advance);
}

/// batch_norm with its running moments folded into the convolution in front of it: weights and bias for inference.
/// inner: numbers of one filter, height * width * in. bias may be null.
///   launch(float const* kernel, float const* bias, float const* gamma, float const* beta, float const* moving_mean,
///          float const* moving_variance, T* folded, float* folded_bias)
inline kernel_spec fold_batch_norm(storage t, int out_channels, int inner, double epsilon) {
  return detail::pointwise("fold_batch_norm", t, 1LL * out_channels * inner, out_channels, inner,
                           static_cast<float>(epsilon));
}

}  // namespace dsl::cu::kernels
