// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Calls f(n, channel and pixel of the larger image, channel and pixel of the merged one) for every number.
template <class T, class F>
void for_each_merged(view<T> const& merged, shape const& image, F f) {
  int const side = image.height / merged.shape.height;
  for_each_channel(merged, [&](int n, int c) {
    int const place = c / image.channels, down = place % side, right = place / side;
    for (int y = 0, pixel = 0; y < merged.shape.height; ++y)
      for (int x = 0; x < merged.shape.width; ++x, ++pixel)
        f(n, c % image.channels, (1LL * y * side + down) * image.width + 1LL * x * side + right, c, pixel);
  });
}

template <class T>
void merge_pixels_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_merged(b.to, b.x.shape, [&](int n, int from_channel, long long from, int channel, int pixel) {
    b.to(n, channel, pixel) = b.x(n, from_channel, from);
  });
}

template <class T>
void merge_pixels_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  for_each_merged(b.dy, b.to.shape, [&](int n, int to_channel, long long to, int channel, int pixel) {
    add_to(b.to(n, to_channel, to), b.dy(n, channel, pixel), b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::merge_pixels>{
    .forward = merge_pixels_forward<T>, .backward = merge_pixels_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
