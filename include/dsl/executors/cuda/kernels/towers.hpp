// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>

#include <span>
#include <vector>

/// Specs of kernels/towers.cuh.
namespace dsl::cu::kernels::TYPENET_MODE {

/// Converts to floats those of `count` gradients that were computed in T; stage_map says which: see update().
inline auto widen_staged(storage t, long long count) -> kernel_spec<element const*, unsigned char const*, float*> {
  int const lanes = count % 4 == 0 ? 4 : 1;
  return detail::pointwise("widen_staged", t, count / lanes, detail::checked_count("widen_staged", count), lanes);
}

/// Updates `count` running moments with those of each of `parts`, one after the other. A part is `count` numbers,
/// followed by the number of towers whose moments they sum, which is 0 if there are none. keep: for each running
/// moment, the share that an update keeps.
inline auto move_moments(storage t, long long count, int parts) -> kernel_spec<float const*, float const*, float*> {
  return detail::pointwise("move_moments", t, count, detail::checked_count("move_moments", count), parts);
}

/// Returns the number of floats in one tower's part for join_moments(): the means and the sums of squared deviations of
/// each layer, one layer after the other, and then the number of values per channel.
inline int moments_of_part(std::span<batch_norm_layer const> layers) {
  int all = 1;
  for (batch_norm_layer const& b : layers) all += 2 * b.channels;
  return all;
}

/// Computes the statistics of a batch from those of its `parts`, and updates the running moments as
/// batch_norm_statistics() does.
inline auto join_moments(storage t, std::span<batch_norm_layer const> layers, int parts, bool unbiased)
    -> kernel_spec<batch_norm_forwards, float const*> {
  if (layers.empty() || layers.size() > batch_norm_group)
    throw executor_error(
        dsl::detail::message({"cuda: one launch joins 1 to 4 tensors' moments; found ", layers.size()}));
  int const stride = moments_of_part(layers);
  any_kernel s = detail::pointwise("join_moments", t, stride / 2, stride / 2, parts, stride,
                                   static_cast<int>(layers.size()), unbiased);
  int first = 0;
  for (std::size_t k = 0; k < batch_norm_group; ++k) {
    batch_norm_layer const b = k < layers.size() ? layers[k] : batch_norm_layer{};
    std::vector<constant> const more =
        detail::constants_of(b.channels, first, static_cast<float>(b.epsilon), static_cast<float>(b.momentum));
    s.constants.insert(s.constants.end(), more.begin(), more.end());
    first += 2 * b.channels;
  }
  return s;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
