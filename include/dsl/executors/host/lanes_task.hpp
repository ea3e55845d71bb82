// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>

namespace dsl::host::TYPENET_MODE {

/// Which channel of a step's input becomes channel c of its output: (c + first) taken apart into two numbers, of which
/// the lower one counts to `groups`, and put together in the other order. Channels outside of the input are zero.
struct channel_order {
  int first = 0;
  int groups = 1;
  int each = 1;  // channels divided by groups

  constexpr int of(int c) const { return groups == 1 ? c + first : c % groups * each + c / groups; }
};

/// Returns the task of a step that copies channels in another order, or between tensors of which one begins or ends
/// within a channel block. It is empty if the output has no channel blocks.
template <class Place>
[[gnu::cold]] task lanes_task(Place& at, view<float const> const& x, view<float> const& to, bool accumulate,
                              channel_order const& order) {
  int const L = at.lanes(), first = to.channel, end = to.channel + to.shape.channels;
  if (to.block != L || !x.data) return {};
  int const first_block = first / L, blocks = blocks_of(end, L) - first_block;
  // whoever writes a buffer's last channels also writes the rest of their block
  int const clear = end < to.buffer_channels && end + L > to.buffer_channels ? to.buffer_channels : end;
  return [&at, x, to, accumulate, order, L, first, first_block, blocks, end, clear] {
    at.run(to.batch * blocks, [&](int i) {
      static constexpr float zero = 0;
      int const n = i / blocks, start = (first_block + i % blocks) * L;
      lanes_call c{.to = to.data + (1LL * n * to.buffer_channels + start) * to.shape.area(),
                   .first = start < first ? first - start : 0,
                   .last = start + L < clear ? L : clear - start,
                   .count = to.shape.area(),
                   .accumulate = accumulate};
      for (int l = c.first; l < c.last; ++l) {
        int const from = order.of(start + l - first);
        bool const there = start + l < end && from >= 0 && from < x.shape.channels;
        pixel_row<float const> const row = there ? x.pixels(n, from) : pixel_row<float const>{&zero, 0};
        c.from[l] = row.first, c.step[l] = row.step;
      }
      at.memory().copy_lanes(c);
    });
  };
}

/// Returns the task of a step of channel_slice or channel_shuffle.
template <class Place>
[[gnu::cold]] task channels_task(Place& at, bound_step<float> const& s) {
  bool const forward = s.step->what == action::forward, slices = s.node->kind == op::channel_slice;
  int const groups = s.node->groups, all = s.to.shape.channels;
  channel_order order{};
  if (slices)
    order.first = forward ? s.node->first_channel : -s.node->first_channel;
  else  // the gradient of a shuffle shuffles into the other number of groups
    order.groups = forward ? groups : all / groups, order.each = all / order.groups;
  return lanes_task(at, forward ? s.x : s.dy, s.to, s.accumulate, order);
}

}  // namespace dsl::host::TYPENET_MODE
