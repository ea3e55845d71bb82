// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/movement.cuh. `from` and `to` are a tensor's shape and place, or those of its gradient: in the
/// backward pass, gradients are copied in the other direction.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel merge_pixels_spec(std::string_view function, storage t, int batch, shape const& image, int side,
                                    slice x, slice y, bool accumulate) {
  int const lanes = lanes_of(t, image.channels, {x, y});
  return pointwise(function, t, batch * image.area() * (image.channels / lanes), batch, image.channels, lanes,
                   image.height, image.width, side, x, y, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

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

/// Makes one pixel of each square of `side` x `side` pixels. `image` is the shape of the larger image.
inline auto merge_pixels(storage t, int batch, shape const& image, int side, slice x, slice y)
    -> kernel_spec<element const*, element*> {
  return detail::merge_pixels_spec("merge_pixels", t, batch, image, side, x, y, false);
}
/// Copies the gradients of merged pixels back to their squares.
inline auto merge_pixels_backward(storage t, int batch, shape const& image, int side, slice dx, slice dy,
                                  bool accumulate) -> kernel_spec<element const*, element*> {
  return detail::merge_pixels_spec("merge_pixels_backward", t, batch, image, side, dx, dy, accumulate);
}

/// Exchanges channels and pixels. For the gradient, exchange `from` and `to`.
inline auto transpose_tokens(storage t, int batch, shape const& from, shape const& to, slice x, slice y,
                             bool accumulate) -> kernel_spec<element const*, element*> {
  int const pixels = detail::checked_count("transpose_tokens", to.area());
  detail::checked_count("transpose_tokens", batch * std::max(from.area(), to.area()));
  any_kernel s{.function = "transpose_tokens", .storage = t};
  s.constants = detail::constants_of(batch, pixels, to.channels, x, y, accumulate);
  s.threads = 256;
  s.blocks_x = static_cast<unsigned>(
      detail::checked_count(s.function, batch * detail::ceil_div(to.channels, 32) * detail::ceil_div(pixels, 32)));
  return s;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
