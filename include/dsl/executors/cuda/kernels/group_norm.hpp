// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/plan/plan.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/group_norm.cuh and group_norm_backward.cuh, for group_norm, layer_norm and rms_norm.
namespace dsl::cu::kernels::TYPENET_MODE {

/// The groups of numbers that are normalised together. Each consists of 1 / `groups` of the channels, at `area`
/// consecutive pixels.
struct normalised_groups {
  long long pixels = 0;  // of the whole batch
  int channels = 0;
  int groups = 1;
  long long area = 1;
  bool centred = true;  // false: the mean is not subtracted, and there is no beta

  constexpr int each() const { return channels / groups; }
  constexpr long long all() const { return pixels / area * groups; }
};
/// Returns the groups of a group_norm over a batch of this shape.
constexpr normalised_groups groups_of_samples(int batch, shape const& s, int groups) {
  return {batch * s.area(), s.channels, groups, s.area()};
}
/// Returns the groups of a layer_norm over a batch of this shape.
constexpr normalised_groups groups_of_pixels(int batch, shape const& s, bool centred = true) {
  return {batch * s.area(), s.channels, 1, 1, centred};
}

/// Returns the number of floats that group_norm_means() writes.
constexpr long long count_of_means(normalised_groups const& g) { return 5 * g.all(); }

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// Gives a spec one team of threads for each of `teams` pieces of work of `units` units each, as in teams.cuh. Returns
/// the number of threads of a team, a power of 2 up to 256; none of them is without a unit.
inline int share_in_teams(any_kernel& s, long long teams, long long units) {
  int team = 1;
  while (team < 256 && 2LL * team <= units) team *= 2;
  checked_count(s.function, teams * team);
  s.threads = teams * team >= 65'536 ? 256U : static_cast<unsigned>(std::max(team, 64));
  s.blocks_x = static_cast<unsigned>(ceil_div(teams * team, s.threads));
  return team;
}

inline any_kernel group_norm_spec(std::string_view function, storage t, kernels::normalised_groups const& g,
                                  double epsilon, slice x, slice y) {
  any_kernel s{.function = function, .storage = t};
  checked_count(function, g.pixels);
  int const numbers = checked_count(function, g.each() * g.area);
  int const lanes = lanes_of(t, g.each(), {x, y});
  int const team = share_in_teams(s, g.all(), numbers / lanes);
  s.constants = constants_of(static_cast<int>(g.all()), g.groups, g.each(), static_cast<int>(g.area), lanes, team,
                             static_cast<float>(epsilon), g.centred, x, y);
  return s;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Normalises each group: y = gamma (x - mean) / sqrt(variance + epsilon) + beta. y may be x, and beta null.
inline auto group_norm_forward(storage t, normalised_groups const& g, double epsilon, slice x, slice y)
    -> kernel_spec<element const*, float const*, float const*, element*> {
  return detail::group_norm_spec("group_norm_forward", t, g, epsilon, x, y);
}
/// Computes the moments of each group again, and the means over each group that its gradient needs: the first of two
/// launches in the backward pass. `means` receives count_of_means() floats.
inline auto group_norm_means(storage t, normalised_groups const& g, double epsilon, slice x, slice dy)
    -> kernel_spec<element const*, element const*, float const*, float*> {
  return detail::group_norm_spec("group_norm_means", t, g, epsilon, x, dy);
}
/// Computes dx, or dx += ..., and the gradients of gamma and beta, from what group_norm_means() has written: the second
/// launch. dx may be x or dy, or null if it is not needed; dbeta, or dgamma and dbeta, may be null.
inline auto group_norm_backward(storage t, normalised_groups const& g, slice x, slice dy, slice dx, bool accumulate)
    -> meeting_spec<float, element const*, element const*, float const*, float const*, element*, float*, float*> {
  any_kernel s{.function = "group_norm_backward", .storage = t};
  int const pixels = detail::checked_count(s.function, g.pixels);
  int const lanes = detail::lanes_of(t, g.channels, {x, dy, dx});
  detail::tiling tiles = detail::tiles_of(g.channels, lanes, detail::reduce_threads, detail::reduce_channels);
  detail::reduce({&tiles, 1}, pixels, lanes, s);
  s.constants = detail::constants_of(pixels, g.channels, lanes, g.groups, g.each(), static_cast<int>(g.area), tiles, x,
                                     dy, dx, accumulate);
  return s;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
