// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void channel_slice_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, b.node->first_channel + c);
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i];
  });
}

/// Computes the input's gradient. Channels outside the range get no gradient from this step: it writes zeros there,
/// unless it accumulates.
template <class T>
void channel_slice_backward(host::bound_step<T> const& b, step_context const&) {
  int const first = b.node->first_channel, last = first + b.dy.shape.channels;
  for_each_channel(b.to, [&](int n, int c) {
    bool const sliced = c >= first && c < last;
    auto const from = b.dy.pixels(n, sliced ? c - first : 0);
    auto const to = b.to.pixels(n, c);
    if (sliced || !b.accumulate)
      for (long long i = 0; i < b.to.shape.area(); ++i) add_to(to[i], sliced ? from[i] : T(0), b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::channel_slice>{
    .forward = channel_slice_forward<T>, .backward = channel_slice_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::channel_slice> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    return channel_task(at, s);
  }
};

}  // namespace dsl::host::TYPENET_MODE
