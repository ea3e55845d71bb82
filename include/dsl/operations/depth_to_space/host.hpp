// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Copies between an image, whose pixels are in squares, and a tensor with a pixel for each square, in one direction.
/// `apart` is the distance between the channels of neighbouring pixels.
template <bool ToDepth, class From, class T>
void copy_squares(view<From> const& from, view<T> const& to, int apart, bool accumulate) {
  shape const& image = ToDepth ? from.shape : to.shape;
  shape const& deep = ToDepth ? to.shape : from.shape;
  int const side = image.height / deep.height;
  for_each_channel(to, [&](int n, int k) {
    // The channel of the image and the place in a square, or, in the other direction, only the channel.
    int const parts = ToDepth ? side * side : 1;
    int const c = ToDepth ? k / (apart * parts) * apart + k % apart : k, own = k / apart % parts;
    long long pixel = 0;
    for (int row = 0; row < to.shape.height; ++row)
      for (int column = 0; column < to.shape.width; ++column, ++pixel) {
        if constexpr (ToDepth) {
          long long const at = (1LL * row * side + own / side) * image.width + 1LL * column * side + own % side;
          add_to(to(n, k, pixel), from(n, c, at), accumulate);
        } else {
          int const part = row % side * side + column % side;
          int const channel = c / apart * apart * side * side + part * apart + c % apart;
          add_to(to(n, k, pixel), from(n, channel, 1LL * (row / side) * deep.width + column / side), accumulate);
        }
      }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::depth_to_space>{
    .forward = [](host::bound_step<T> const& b,
                  step_context const&) { copy_squares<false>(b.x, b.to, b.node->groups, false); },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          if (b.to.data) copy_squares<true>(b.dy, b.to, b.node->groups, b.accumulate);
        },
    .parts = parts_of::samples};

template <class T>
inline constexpr loops<T> loops_for<T, op::space_to_depth>{
    .forward = [](host::bound_step<T> const& b,
                  step_context const&) { copy_squares<true>(b.x, b.to, b.node->groups, false); },
    .backward =
        [](host::bound_step<T> const& b, step_context const&) {
          if (b.to.data) copy_squares<false>(b.dy, b.to, b.node->groups, b.accumulate);
        },
    .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
