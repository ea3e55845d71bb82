// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns which input channel becomes output channel `channel`. shuffled_from(1, 2, 6) -> 3: with six channels in two
/// groups, the second output channel is the fourth input channel.
constexpr int shuffled_from(int channel, int groups, int channels) {
  return channel % groups * (channels / groups) + channel / groups;
}

template <class T>
[[gnu::cold]] void channel_shuffle_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, shuffled_from(c, b.node->groups, b.to.shape.channels));
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i];
  });
}

template <class T>
[[gnu::cold]] void channel_shuffle_backward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.dy, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, shuffled_from(c, b.node->groups, b.to.shape.channels));
    for (long long i = 0; i < b.to.shape.area(); ++i) add_to(to[i], from[i], b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> channel_shuffle_loops{.forward = channel_shuffle_forward<T>,
                                                .backward = channel_shuffle_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE
