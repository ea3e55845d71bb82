// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/pixel_task.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::softmax> {
  /// Returns the task of a softmax over the channels of each pixel; it is empty for tensors without channel blocks.
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    if (!is_blocked(s, at.lanes())) return {};
    return [&at, &s] {
      for_each_part(at, s.to.batch, s.to.shape.area(), [&](int n, long long first, long long count) {
        long long const offset = first * at.lanes();
        at.memory().channel_softmax({.x = sample_of(s.x, n) + offset,
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
