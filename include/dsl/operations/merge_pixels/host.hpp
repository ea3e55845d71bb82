// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_steps.hpp>

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

namespace dsl::host::TYPENET_MODE {

/// Calls f(address in the larger image, pixel of the merged one) for the pixels of a channel block of the merged one.
template <class Device, class T, class F>
void for_each_merged(token_steps<Device> const& t, view<T> const& image, shape const& merged, int n, int block,
                     F const& f) {
  int const side = image.shape.height / merged.height, first = block * t.lanes;
  int const place = first / image.shape.channels, down = place % side, right = place / side;
  T* const from = t.numbers(image, n, first % image.shape.channels / t.lanes);
  long long pixel = 0;
  for (int y = 0; y < merged.height; ++y)
    for (int x = 0; x < merged.width; ++x)
      f(from + ((1LL * y * side + down) * image.shape.width + 1LL * x * side + right) * t.lanes, pixel++);
}

template <class Device>
void merge_blocks(token_steps<Device> const& t) {
  t.each_block(t.step->to, [&t](int n, int block) {
    float* const to = t.numbers(t.step->to, n, block);
    for_each_merged(t, t.step->x, t.step->to.shape, n, block,
                    [&](float const* from, long long pixel) { t.move(to + pixel * t.lanes, from, t.lanes, false); });
  });
}

template <class Device>
void divide_blocks(token_steps<Device> const& t) {
  if (!t.step->to.data) return;
  t.each_block(t.step->dy, [&t](int n, int block) {
    float const* const dy = t.numbers(t.step->dy, n, block);
    for_each_merged(t, t.step->to, t.step->dy.shape, n, block,
                    [&](float* to, long long pixel) { t.move(to, dy + pixel * t.lanes, t.lanes, t.step->accumulate); });
  });
}

template <>
struct step_task<op::merge_pixels> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    token_steps<Device> const made(at, s);
    if (!made.fits()) return {};
    if (s.step->what == action::forward) return [made] { merge_blocks(made); };
    return [made] { divide_blocks(made); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
