// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/movement.cuh. `from` and `to` are a tensor's shape and place, or those of its gradient: in the
/// backward pass, gradients are copied in the other direction.
namespace dsl::cu::kernels::TYPENET_MODE {

/// The place of an image in another one, whose numbers are negative if the other one is inside it: the channel, the row
/// and the column of the first image's first number.
struct shift {
  int front = 0;
  int top = 0;
  int left = 0;
};

/// Returns the shape in which tokens are one row: 768x14x14 becomes 768x1x196.
inline shape row_of(shape const& s) { return {s.channels, 1, detail::checked_count("row_of", s.area())}; }

/// Copies an image to its place in another image. Numbers of `to` that `from` does not reach become 0, or keep their
/// values if the kernel accumulates.
inline auto shifted_copy(storage t, int batch, shape const& from, shape const& to, shift const& by, slice x, slice y,
                         bool accumulate) -> kernel_spec<element const*, element*> {
  int lanes = std::min(detail::lanes_of(t, to.channels, {x, y}), detail::lanes_of(t, from.channels, {x, y}));
  if (by.front % lanes != 0) lanes = 1;
  detail::checked_count("shifted_copy", batch * from.area());
  return detail::pointwise("shifted_copy", t, batch * to.area() * (to.channels / lanes), batch, to.channels, lanes,
                           from.channels, from.height, from.width, to.height, to.width, by.front, by.top, by.left, x, y,
                           accumulate);
}

/// Writes first the first channel of each group, then the second channel of each group, and so on. For the gradient,
/// pass channels / groups instead of groups.
inline auto channel_shuffle(storage t, long long pixels, int channels, int groups, slice x, slice y, bool accumulate)
    -> kernel_spec<element const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {y});
  return detail::pointwise("channel_shuffle", t, pixels * (channels / lanes),
                           detail::checked_count("channel_shuffle", pixels), channels, lanes, groups, x, y, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
