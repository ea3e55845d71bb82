// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/plan.hpp>

namespace dsl {

/// The schedule of a plan on a device with two streams: the stream of each step, and the step of the other stream that
/// it waits for. Within a stream, steps keep the plan's order.
struct plan_streams {
  detail::list<int> stream{};  // per step: 0 or 1
  detail::list<int> wait{};    // per step: the last step of the other stream that it waits for, or -1
};

namespace detail {

/// Assigns steps to streams. The second stream gets steps whose results are not needed soon. In training, these are the
/// gradients of kernels. Otherwise, if several branches read one tensor, they are all branches but the first, up to the
/// step that joins them. A step that waits for another stream begins later than one that does not: in the forward pass
/// of training, whose branches are joined twice in each module, waiting costs more than running the branches
/// concurrently gains.
class stream_finder {
 public:
  constexpr stream_finder(graph_view const& g, plan const& p)
      : g_(g), p_(p), readers_(g.size.tensors), made_on_(g.size.tensors) {}

  constexpr plan_streams run() {
    plan_streams found{list<int>(p_.steps.size()), list<int>(p_.steps.size(), -1)};
    int done[2] = {-1, -1};  // per stream: the last step of the other one known to be finished
    for (int s = 0; s < p_.steps.size(); ++s) {
      int const mine = found.stream[s] = stream_of(p_.steps[s]);
      for (int t = s - 1; t > done[mine]; --t)
        if (found.stream[t] != mine && depend(p_.steps[t], p_.steps[s])) found.wait[s] = done[mine] = t;
    }
    return found;
  }

 private:
  constexpr int stream_of(step const& x) {
    if (x.what == action::backward_weights) return 1;
    if (x.what != action::forward || p_.options.mode == mode::training) return 0;
    int inputs = 0, stream = 0, written = -1;
    for (int i = x.first_operand; i < x.first_operand + x.operands; ++i) {
      operand const& o = p_.operands[i];
      if (o.what != content::activation) continue;
      if (o.how != access::read) {
        written = o.index;
        continue;
      }
      ++inputs;
      stream = readers_[o.index]++ > 0 ? 1 : made_on_[o.index];
    }
    if (inputs != 1 || x.group >= 0) stream = 0;  // branches are joined here
    if (written >= 0) made_on_[written] = stream;
    return stream;
  }
  /// Whether two steps use the same bytes and at least one of them writes these.
  constexpr bool depend(step const& a, step const& b) const {
    if (b.what == action::measure || b.what == action::update) return true;  // use gradients that are not operands
    for (int i = a.first_operand; i < a.first_operand + a.operands; ++i)
      for (int j = b.first_operand; j < b.first_operand + b.operands; ++j) {
        operand const &m = p_.operands[i], &n = p_.operands[j];
        if (m.how == access::read && n.how == access::read) continue;
        buffer const &x = p_.buffer_of(m), &y = p_.buffer_of(n);
        bool const same_bytes = x.where == y.where && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
        if (same_bytes && !other_channels(m, n)) return true;
      }
    return false;
  }

  /// Whether two operands are slices of one buffer that have no channel in common. With channels last, a step reads and
  /// writes only its own channels.
  constexpr bool other_channels(operand const& m, operand const& n) const {
    if (m.buffer != n.buffer || p_.options.target.channel_block != channels_last) return false;
    if (!is_tensor(m) || !is_tensor(n)) return false;
    shape const &x = g_.shape_of(m.index), &y = g_.shape_of(n.index);
    return x.area() == y.area() && (m.channel + x.channels <= n.channel || n.channel + y.channels <= m.channel);
  }
  static constexpr bool is_tensor(operand const& o) {
    return o.what == content::activation || o.what == content::gradient;
  }

  graph_view const& g_;
  plan const& p_;
  list<int> readers_;  // per tensor: number of forward steps that have read it
  list<int> made_on_;  // per tensor: the stream of the step that wrote it
};

}  // namespace detail

/// Assigns the steps of a plan to two streams, and returns for each step its stream and the step for which it waits.
constexpr plan_streams find_streams(graph_view const& g, plan const& p) { return detail::stream_finder(g, p).run(); }

}  // namespace dsl
