// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/pixel_task.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void softmax_forward(view<T const> x, view<T> y) {
  for (int n = 0; n < y.batch; ++n)
    for (long long i = 0; i < y.shape.area(); ++i) {
      T largest = x(n, 0, i);
      for (int c = 1; c < x.shape.channels; ++c)
        if (x(n, c, i) > largest) largest = x(n, c, i);
      T sum = 0;
      for (int c = 0; c < x.shape.channels; ++c) sum += y(n, c, i) = detail::exp(x(n, c, i) - largest);
      for (int c = 0; c < x.shape.channels; ++c) y(n, c, i) /= sum;
    }
}

template <class T>
void softmax_backward(view<T const> y, view<T const> dy, view<T> dx, bool accumulate) {
  for (int n = 0; n < y.batch; ++n)
    for (long long i = 0; i < y.shape.area(); ++i) {
      T product = 0;
      for (int c = 0; c < y.shape.channels; ++c) product += y(n, c, i) * dy(n, c, i);
      for (int c = 0; c < y.shape.channels; ++c) add_to(dx(n, c, i), y(n, c, i) * (dy(n, c, i) - product), accumulate);
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::softmax>{
    .forward = [](host::bound_step<T> const& b, step_context const&) { softmax_forward(b.x, b.to); },
    .backward = [](host::bound_step<T> const& b,
                   step_context const&) { softmax_backward(b.x, b.dy, b.to, b.accumulate); },
    .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::softmax> {
  /// Returns the task of a softmax over the channels of each pixel; it is empty for tensors without channel blocks.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    if (!is_blocked(s, at.lanes())) return {};
    return [&at, &s] {
      for_each_part(at, s.to.batch, s.to.shape.area(), [&](int n, long long first, long long count) {
        long long const offset = first * at.lanes();
        at.vectors().channel_softmax({.x = sample_of(s.x, n) + offset,
                                      .dy = s.dy.data ? sample_of(s.dy, n) + offset : nullptr,
                                      .to = sample_of(s.to, n) + offset,
                                      .apart = s.to.shape.area() * at.lanes(),
                                      .pixels = count,
                                      .blocks = blocks_of(s.to.shape.channels, at.lanes()),
                                      .channels = s.to.shape.channels,
                                      .accumulate = s.accumulate});
      });
    };
  }
};

}  // namespace dsl::host::TYPENET_MODE
