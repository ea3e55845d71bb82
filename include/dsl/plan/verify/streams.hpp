// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/streams.hpp>

namespace dsl {

/// Checks that two streams have the same result as the plan in its own order: of any two steps that share memory,
/// unless both only read it, the later one must run after the earlier one. With channels last, tensors in different
/// channels of one buffer share no memory. Returns the first step that may run too early, or -1.
constexpr int first_race(graph_view const& g, plan const& p, plan_streams const& q) {
  int const steps = p.steps.size();
  auto const holds_channels = [&](operand const& o) {
    return p.options.target.channel_block == channels_last &&
           (o.what == content::activation || o.what == content::gradient);
  };
  auto const in_other_channels = [&](operand const& x, operand const& y) {
    if (x.buffer != y.buffer || !holds_channels(x) || !holds_channels(y)) return false;
    shape const &a = g.shape_of(x.index), &b = g.shape_of(y.index);
    return a.area() == b.area() && (x.channel + a.channels <= y.channel || y.channel + b.channels <= x.channel);
  };
  if (q.stream.size() != steps || q.wait.size() != steps) return 0;
  for (int s = 0; s < steps; ++s) {
    if (q.stream[s] < 0 || q.stream[s] > 1 || q.wait[s] >= s) return s;
    if (q.wait[s] >= 0 && q.stream[q.wait[s]] == q.stream[s]) return s;
    // All steps of the other stream up to the last one that this stream has waited for are finished.
    int done = -1;
    for (int t = 0; t <= s; ++t)
      if (q.stream[t] == q.stream[s] && q.wait[t] > done) done = q.wait[t];
    for (int t = done + 1; t < s; ++t) {
      if (q.stream[t] == q.stream[s]) continue;
      if (p.steps[s].what == action::measure || p.steps[s].what == action::update) return s;
      for (int i = 0; i < p.steps[t].operands; ++i)
        for (int j = 0; j < p.steps[s].operands; ++j) {
          operand const& theirs = p.operands[p.steps[t].first_operand + i];
          operand const& mine = p.operands[p.steps[s].first_operand + j];
          buffer const &a = p.buffers[theirs.buffer], &b = p.buffers[mine.buffer];
          bool const apart = a.where != b.where || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
          bool const writes = theirs.how != access::read || mine.how != access::read;
          if (writes && !apart && !in_other_channels(theirs, mine)) return s;
        }
    }
  }
  return -1;
}

}  // namespace dsl
