// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void channel_shuffle_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, host::shuffled_from(c, b.node->groups, b.to.shape.channels));
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i];
  });
}

template <class T>
void channel_shuffle_backward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.dy, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, host::shuffled_from(c, b.node->groups, b.to.shape.channels));
    for (long long i = 0; i < b.to.shape.area(); ++i) add_to(to[i], from[i], b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::channel_shuffle>{
    .forward = channel_shuffle_forward<T>, .backward = channel_shuffle_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::channel_shuffle> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    return channel_task(at, s);
  }
};

}  // namespace dsl::host::TYPENET_MODE
