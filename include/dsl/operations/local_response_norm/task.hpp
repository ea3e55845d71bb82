// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/pixel_task.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::local_response_norm> {
  /// Returns the task of a local_response_norm; it is empty for tensors without channel blocks, and if a channel has
  /// neighbours beyond the next block.
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    if (!is_blocked(s, at.lanes()) || s.node->groups / 2 > at.lanes()) return {};
    return [&at, &s] {
      for_each_part(at, s.to.batch, s.to.shape.area(), [&](int n, long long first, long long count) {
        long long const offset = first * at.lanes();
        at.memory().local_response({.x = sample_of(s.x, n) + offset,
                                    .dy = s.dy.data ? sample_of(s.dy, n) + offset : nullptr,
                                    .to = sample_of(s.to, n) + offset,
                                    .apart = s.to.shape.area() * at.lanes(),
                                    .pixels = count,
                                    .blocks = blocks_of(s.to.shape.channels, at.lanes()),
                                    .reach = s.node->groups / 2,
                                    .constant = static_cast<float>(s.node->epsilon),
                                    .share = static_cast<float>(s.node->rate / s.node->groups),
                                    .power = static_cast<float>(s.node->power),
                                    .accumulate = s.accumulate});
      });
    };
  }
};

}  // namespace dsl::host::TYPENET_MODE
