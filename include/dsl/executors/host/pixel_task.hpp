// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>

namespace dsl::host::TYPENET_MODE {

/// Calls f(sample, first pixel, pixels) for parts of all samples, on all threads.
template <class Place, class F>
void for_each_part(Place& at, int batch, long long area, F const& f) {
  constexpr int most_pixels = 64;
  int const pieces = static_cast<int>((area + most_pixels - 1) / most_pixels);
  at.run(batch * pieces, [&](int i) {
    long long const first = 1LL * i % pieces * most_pixels;
    f(i / pieces, first, area - first < most_pixels ? area - first : most_pixels);
  });
}

/// Whether all tensors of a step consist of whole channel blocks, with more than one pixel.
inline bool is_blocked(bound_step<float> const& s, int lanes) {
  auto const blocked = [lanes](auto const& v) { return !v.data || (v.block == lanes && in_blocks(v, lanes)); };
  return blocked(s.x) && blocked(s.dy) && blocked(s.to);
}

/// Returns the task of a softmax over the channels of each pixel; it is empty for tensors without channel blocks.
template <class Place>
task channel_softmax_task(Place& at, bound_step<float> const& s) {
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

/// Returns the task of a local_response_norm; it is empty for tensors without channel blocks, and if a channel has
/// neighbours beyond the next block.
template <class Place>
task local_response_task(Place& at, bound_step<float> const& s) {
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

}  // namespace dsl::host::TYPENET_MODE
