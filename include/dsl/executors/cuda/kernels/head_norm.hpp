// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/group_norm.hpp>

#include <string_view>

/// Specs of kernels/head_norm.cuh. `channels` is the number of all channels: queries, keys and values.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel head_norm_spec(std::string_view function, storage t, long long pixels, int channels, int heads,
                                 slice x, slice y, slice dx, bool accumulate) {
  any_kernel s{.function = function, .storage = t};
  int const count = checked_count(function, pixels);
  int const width = channels / 3 / heads;
  int const lanes = lanes_of(t, width, {x, y, dx});
  int const team = share_in_teams(s, 3 * heads * pixels, width / lanes);
  s.constants = constants_of(count, heads, width, lanes, team, x, y, dx, accumulate);
  return s;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Divides the queries and the keys of each head by their length, multiplies the queries by e^gamma, at most 100, and
/// copies the values. `gamma` has a number for each head.
inline auto head_norm_forward(storage t, long long pixels, int channels, int heads, slice x, slice y)
    -> kernel_spec<element const*, float const*, element*> {
  return detail::head_norm_spec("head_norm_forward", t, pixels, channels, heads, x, y, x, false);
}
/// Computes dx, or dx += ..., and each pixel's share of the gradient of gamma: `products` receives pixels * heads
/// floats, which channel_sums() then sums over the pixels. Both may be null.
inline auto head_norm_backward(storage t, long long pixels, int channels, int heads, slice x, slice dy, slice dx,
                               bool accumulate)
    -> kernel_spec<element const*, element const*, float const*, element*, float*> {
  return detail::head_norm_spec("head_norm_backward", t, pixels, channels, heads, x, dy, dx, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
