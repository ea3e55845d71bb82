// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

/// Specs of kernels/channel_scale.cuh. `pixels` counts those of the whole batch.
namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes y = gamma x, or y += gamma x, for each channel. y may be x.
inline auto channel_scale(storage t, long long pixels, int channels, slice x, slice y, bool accumulate)
    -> kernel_spec<element const*, float const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {x, y});
  return detail::pointwise("channel_scale", t, pixels * (channels / lanes),
                           detail::checked_count("channel_scale", pixels), channels, lanes, x, y, accumulate);
}
/// Computes dx = gamma dy, or dx += gamma dy, and the gradient of gamma. dx may be x or dy, or null if it is not
/// needed; dgamma may be null.
inline auto channel_scale_backward(storage t, long long pixels, int channels, slice x, slice dy, slice dx,
                                   bool accumulate)
    -> meeting_spec<float, element const*, element const*, float const*, element*, float*> {
  any_kernel s{.function = "channel_scale_backward", .storage = t};
  int const count = detail::checked_count(s.function, pixels);
  int const lanes = detail::lanes_of(t, channels, {x, dy, dx});
  detail::tiling tiles = detail::tiles_of(channels, lanes, detail::reduce_threads, detail::reduce_channels);
  detail::reduce({&tiles, 1}, count, lanes, s);
  s.constants = detail::constants_of(count, channels, lanes, tiles, x, dy, dx, accumulate);
  return s;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
