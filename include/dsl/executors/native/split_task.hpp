// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/operation.hpp>

// Steps without a kernel: their plain loops run on all threads, each for some of the samples or channels.

namespace dsl::native_cpu::TYPENET_MODE {

using plain::parts_of;

/// Returns how a step can be divided whose operation's row in host.hpp says `loops`. Gradients of parameters are sums
/// over all samples, and the functions of a custom operation may not be called by several threads.
template <class T>
parts_of parts(host::bound_step<T> const& b, parts_of loops) {
  action const what = b.step->what;
  if (what == action::copy_forward || what == action::copy_backward) return parts_of::channels;
  if (!b.node || b.statistics || (what != action::forward && what != action::backward)) return parts_of::none;
  for (T const* gradient : b.gradients)
    if (gradient) return parts_of::none;
  return loops;
}

/// Returns `count` channels of sample n of a view, or all of them if `count` is 0.
template <class T>
view<T> part_of(view<T> v, int n, int first, int count) {
  if (!v.data) return v;
  v.data += 1LL * n * v.buffer_channels * v.shape.area();
  v.batch = 1;
  if (count > 0) v.channel += first, v.shape.channels = count;
  return v;
}

/// Returns the part of a step for some channels of one sample.
template <class T>
host::bound_step<T> part_of(host::bound_step<T> const& b, int n, int first, int count) {
  host::bound_step<T> part;
  part.step = b.step, part.node = b.node, part.accumulate = b.accumulate;
  part.x = part_of(b.x, n, first, count), part.x2 = part_of(b.x2, n, first, count);
  for (view<T const> const& v : b.more) part.more.push(part_of(v, n, first, count));
  part.dy = part_of(b.dy, n, first, count), part.to = part_of(b.to, n, first, count);
  part.argmax = {part_of(b.argmax.narrow, n, first, count), part_of(b.argmax.wide, n, first, count)};
  for (int r = 0; r < role_count; ++r) part.parameters[r] = b.parameters[r];
  return part;
}

/// Returns a task that calls run(part, sample, first channel) for all parts of a step, on all threads; or an empty
/// task if the step cannot be divided. `loops` is the row of its operation. Parts of a tensor in channel blocks are
/// whole blocks.
template <class Device, class F>
host::task split_task(Device& at, host::bound_step<float> const& b, parts_of loops, F run) {
  parts_of const by = parts(b, loops);
  if (by == parts_of::none || !b.to.data) return {};
  constexpr int most_numbers = 4096;
  int const block = b.to.block, channels = b.to.shape.channels, shift = b.to.channel % block;
  long long const fit = most_numbers / b.to.shape.area();
  int const each = by == parts_of::samples ? channels + shift
                   : block > 1             ? block
                                           : host::least(channels, fit < 1 ? 1 : static_cast<int>(fit));
  int const pieces = (channels + shift + each - 1) / each;
  return [&at, &b, run, by, channels, shift, each, pieces] {
    at.run(b.to.batch * pieces, [&](int i) {
      int const n = i / pieces, k = i % pieces, first = k == 0 ? 0 : k * each - shift;
      int const end = host::least(channels, (k + 1) * each - shift);
      host::bound_step<float> const part = part_of(b, n, first, by == parts_of::samples ? 0 : end - first);
      run(part, n, first);
      if (b.ends_block && end == channels) host::zero_rest_of_block(part.to);
    });
  };
}

}  // namespace dsl::native_cpu::TYPENET_MODE
