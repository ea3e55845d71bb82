// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/direct.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// Slices of a convolution's channels that follow each other and are convolutions of their own. A slice is a group, or
/// several, computed together with a kernel that is 0 between them, since less than a channel block can't be computed
/// alone: 4 groups of 4 channels become a convolution of 16.
struct group_slices {
  int first_in = 0;  // channel of x
  int first_out = 0;
  int count = 1;
  int groups = 1;  // of each slice
  int in = 0;      // channels of each slice
  int out = 0;
};

/// Returns the slices of a convolution: as few groups in each as fill whole channel blocks, and what is left over.
[[gnu::cold]] inline detail::list<group_slices> slices_of(convolution const& c, int lanes) {
  int const in = c.in.channels / c.groups, out = c.out.channels / c.groups;
  int together = 1;
  while (together < c.groups && (together * in % lanes != 0 || together * out % lanes != 0)) ++together;
  int const whole = c.groups / together, rest = c.groups % together;
  detail::list<group_slices> all;
  all.push({0, 0, whole, together, together * in, together * out});
  if (rest > 0) all.push({whole * together * in, whole * together * out, 1, rest, rest * in, rest * out});
  return all;
}
/// Returns one of them as a convolution.
inline convolution slice(convolution c, group_slices const& s) {
  c.in.channels = s.in, c.out.channels = s.out, c.groups = 1;
  return c;
}
template <class T>
view<T> channels_of(view<T> v, int first, int count) {
  v.channel += first;
  v.shape.channels = count;
  return v;
}

/// Returns where slice i begins in the parameter, which has the numbers between channels of one group alone: (out, in /
/// groups, height, width).
inline long long parameter_offset(group_slices const& s, int i, int area) {
  return 1LL * (s.first_out + i * s.out) * (s.in / s.groups) * area;
}
/// Calls f(where a filter's numbers are in the dense kernel, where in the slice's part of the parameter, how many).
template <class F>
void for_each_filter(group_slices const& s, int area, F f) {
  int const in = s.in / s.groups * area, out = s.out / s.groups;
  for (int o = 0; o < s.out; ++o) f(1LL * o * s.in * area + o / out * in, 1LL * o * in, in);
}
/// Returns the floats of a slice's dense kernel.
inline long long dense_kernel(group_slices const& s, int area) { return 1LL * s.in * s.out * area; }
/// Writes a slice's dense kernel from its part of the parameter.
inline void spread_kernel(group_slices const& s, int area, float const* part, float* dense) {
  std::memset(dense, 0, sizeof(float) * static_cast<std::size_t>(dense_kernel(s, area)));
  for_each_filter(s, area, [&](long long to, long long from, int count) {
    std::memcpy(dense + to, part + from, sizeof(float) * static_cast<std::size_t>(count));
  });
}
/// Picks the gradient of a slice's part of the parameter from that of its dense kernel.
inline void collect_kernel(group_slices const& s, int area, float const* dense, float* part) {
  for_each_filter(s, area, [&](long long from, long long to, int count) {
    std::memcpy(part + to, dense + from, sizeof(float) * static_cast<std::size_t>(count));
  });
}

}  // namespace dsl::native_cpu::TYPENET_MODE
