// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/group_norm.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <initializer_list>
#include <vector>

/// Specs of kernels/product.cuh, for multiply.
namespace dsl::cu::kernels::TYPENET_MODE {

/// An operand of multiply: its place, and whether one of its channels or pixels is read for all of the output's.
struct factor {
  slice at{};
  bool one_channel = false;
  bool one_pixel = false;
};
/// Returns the operand of this shape for an output of shape `out`.
constexpr factor factor_of(shape const& s, slice at, shape const& out) {
  return {at, s.channels < out.channels, s.area() < out.area()};
}
/// Appends an operand to a kernel's shape.
inline void append(std::vector<constant>& to, factor const& f) {
  to.insert(to.end(), {f.at.channels, f.at.offset, f.one_channel, f.one_pixel});
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// Returns the lanes of the output's channels. An operand with one channel is not read in lanes.
inline int lanes_of(storage t, int channels, std::initializer_list<slice> slices, kernels::factor const& f) {
  return f.one_channel ? lanes_of(t, channels, slices)
                       : std::min(lanes_of(t, channels, slices), lanes_of(t, channels, {f.at}));
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes y = a b or y += a b, for an output of shape `out`. This is also the gradient of an operand of that shape,
/// if a is dy and b the other operand. y may be an operand that has the shape of y.
inline auto multiply(storage t, int batch, shape const& out, factor const& a, factor const& b, slice y, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  int const lanes = std::min(detail::lanes_of(t, out.channels, {y}, a), detail::lanes_of(t, out.channels, {y}, b));
  long long const pixels = batch * out.area();
  return detail::pointwise("multiply", t, pixels * (out.channels / lanes), detail::checked_count("multiply", pixels),
                           out.channels, lanes, static_cast<int>(out.area()), a, b, y, accumulate);
}

/// Computes the gradient of an operand with one channel: sums of dy b over the channels and, if the operand also has
/// one pixel, over the pixels of each sample. `s` is the shape of dy.
inline auto multiply_backward_channels(storage t, int batch, shape const& s, bool one_pixel, slice dy, factor const& b,
                                       slice dx, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  any_kernel k{.function = "multiply_backward_channels", .storage = t};
  detail::checked_count(k.function, batch * s.area());
  long long const area = one_pixel ? s.area() : 1;
  int const numbers = static_cast<int>(one_pixel ? batch : batch * s.area());
  int const each = detail::checked_count(k.function, area * s.channels);
  int const team = detail::share_in_teams(k, numbers, each);
  k.constants = detail::constants_of(numbers, s.channels, static_cast<int>(area), static_cast<int>(s.area()), team, dy,
                                     b, dx, accumulate);
  return k;
}

/// Computes the gradient of an operand with one pixel: sums of dy b over the pixels of each sample. `s` is the shape of
/// dy.
inline auto multiply_backward_pixels(storage t, int batch, shape const& s, slice dy, factor const& b, slice dx,
                                     bool accumulate) -> kernel_spec<element const*, element const*, element*> {
  any_kernel k{.function = "multiply_backward_pixels", .storage = t, .threads = 256};
  int const lanes = detail::lanes_of(t, s.channels, {dy, dx}, b);
  int columns = 1;
  while (columns < 32 && columns < s.channels / lanes) columns *= 2;
  int const rows = static_cast<int>(k.threads) / columns;
  long long const tiles = detail::ceil_div(s.channels / lanes, columns);
  detail::checked_count(k.function, batch * s.area());
  k.blocks_x = static_cast<unsigned>(detail::checked_count(k.function, batch * tiles));
  k.constants = detail::constants_of(s.channels, lanes, static_cast<int>(s.area()), columns, rows,
                                     static_cast<int>(tiles), dy, b, dx, accumulate);
  return k;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
