// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/direct.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// Consecutive slices of a convolution's channels, each a convolution of its own. A slice is one group, or several
/// groups that are computed together with a kernel that is 0 between them, because less than a channel block can't be
/// computed alone: 4 groups of 4 channels become one convolution of 16.
struct group_slices {
  int first_in = 0;  // channel of x
  int first_out = 0;
  int count = 1;
  int groups = 1;  // of each slice
  int in = 0;      // channels of each slice
  int out = 0;
};

/// Returns the slices of a convolution. Each has the fewest groups that fill whole channel blocks; the last one has the
/// groups that are left over.
inline detail::list<group_slices> slices_of(convolution const& c, int lanes) {
  int const in = c.in.channels / c.groups, out = c.out.channels / c.groups;
  int together = 1;
  while (together < c.groups && (together * in % lanes != 0 || together * out % lanes != 0)) ++together;
  int const whole = c.groups / together, rest = c.groups % together;
  detail::list<group_slices> all;
  all.push({0, 0, whole, together, together * in, together * out});
  if (rest > 0) all.push({whole * together * in, whole * together * out, 1, rest, rest * in, rest * out});
  return all;
}
/// Returns one slice as a convolution.
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

/// Returns where slice i begins in the parameter (out, in / groups, height, width), which only has the numbers between
/// channels of the same group.
inline long long parameter_offset(group_slices const& s, int i, int area) {
  return 1LL * (s.first_out + i * s.out) * (s.in / s.groups) * area;
}
/// Calls f(offset in the dense kernel, offset in the slice's part of the parameter, count) for the numbers of each
/// filter.
template <class F>
void for_each_filter(group_slices const& s, int area, F f) {
  int const in = s.in / s.groups * area, out = s.out / s.groups;
  for (int o = 0; o < s.out; ++o) f(1LL * o * s.in * area + o / out * in, 1LL * o * in, in);
}
/// Returns how many floats a slice's dense kernel has.
inline long long dense_kernel(group_slices const& s, int area) { return 1LL * s.in * s.out * area; }
/// Writes a slice's dense kernel from its part of the parameter.
inline void spread_kernel(group_slices const& s, int area, float const* part, float* dense) {
  std::memset(dense, 0, sizeof(float) * static_cast<std::size_t>(dense_kernel(s, area)));
  for_each_filter(s, area, [&](long long to, long long from, int count) {
    std::memcpy(dense + to, part + from, sizeof(float) * static_cast<std::size_t>(count));
  });
}
/// Copies the gradient of a slice's part of the parameter from the gradient of its dense kernel.
inline void collect_kernel(group_slices const& s, int area, float const* dense, float* part) {
  for_each_filter(s, area, [&](long long from, long long to, int count) {
    std::memcpy(part + to, dense + from, sizeof(float) * static_cast<std::size_t>(count));
  });
}

}  // namespace dsl::native_cpu::TYPENET_MODE
