// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/memory.hpp>

namespace dsl::detail::checking {

/// Executes a plan's memory instead of its arithmetic: which value does each buffer hold? One call per operand, each of
/// them in constant time but for the concats that a value completes.
class replay {
 public:
  [[gnu::cold]] constexpr replay(graph_view const& g, plan const& p, facts const& f, sharing const& activations,
                                 sharing const& gradients)
      : g_(g),
        p_(p),
        activations_(activations),
        gradients_(gradients),
        buffers_(p.buffers.size()),
        missing_(g.size.tensors, 1),
        activation_begun_(g.size.tensors),
        gradient_begun_(g.size.tensors),
        contributions_(g.size.tensors) {
    for (int n = 0; n < g.size.nodes; ++n)
      if (g.nodes[n].kind == op::concat) missing_[g.nodes[n].output] = g.nodes[n].inputs;
    for (int t = 0; t < g.size.tensors; ++t) contributions_[t] = f.readers[t];
    if (g.result() != f.loss_target) --contributions_[g.result()];
  }

  [[gnu::cold]] constexpr plan_verdict const& verdict() const { return verdict_; }

  /// Steps of one group run together: what they use is in use from the first one on.
  [[gnu::cold]] constexpr void begin(int index) {
    step const* before = step_ < 0 ? nullptr : &p_.steps[step_];
    step const& s = p_.steps[index];
    if (!before || s.group < 0 || s.group != before->group || s.what != before->what) time_ = index;
    step_ = index;
    at_ = s.first_operand;
    verdict_.step = index;
  }
  [[gnu::cold]] constexpr bool end() {
    step const& s = p_.steps[step_];
    return at_ == s.first_operand + s.operands || breaks(plan_rule::operands_are_what_the_step_needs);
  }
  [[gnu::cold]] constexpr bool breaks(plan_rule r, int index = -1) {
    verdict_ = {.broken = r, .step = step_, .index = index};
    return false;
  }

  // ---- operands, in the order in which a step has to have them ----

  [[gnu::cold]] constexpr bool read_activation(int t) {
    if (!next(content::activation, access::read, t) || !placed(p_.activations[t], 0)) return false;
    if (missing_[activations_.original[t]] > 0) return breaks(plan_rule::every_read_has_its_write, t);
    return holds(content::activation, activations_.root[t]) && read();
  }
  /// All of a node's output, or, for a copy, the part of a concat's output behind channel `slice`.
  [[gnu::cold]] constexpr bool write_activation(int t, int slice = 0) {
    if (!next(content::activation, access::write, t) || !placed(p_.activations[t], slice)) return false;
    int const root = activations_.root[t];
    if (!write(buffers_[current().buffer].is(content::activation, root))) return false;
    if (!owns(content::activation, root, activation_begun_[root])) return false;
    arrive(t);
    return true;
  }

  [[gnu::cold]] constexpr bool read_gradient(int t, int slice = 0) {
    if (!next(content::gradient, access::read, t) || !placed(p_.gradients[t], slice)) return false;
    if (!gradient_begun_[gradients_.root[t]]) return breaks(plan_rule::every_read_has_its_write, t);
    if (contributions_[t] > 0) return breaks(plan_rule::gradients_are_complete_when_read, t);
    return holds(content::gradient, gradients_.root[t]) && read();
  }
  [[gnu::cold]] constexpr bool contribute(int t) {
    int const root = gradients_.root[t];
    bool const first = !gradient_begun_[root];
    bool const whole = gradients_.original[t] == root;
    access const how = first ? access::write : access::accumulate;
    if (at_ < p_.operands.size() && p_.operands[at_].what == content::gradient && p_.operands[at_].how != how)
      return breaks(plan_rule::gradient_contributions_are_summed_once, t);
    if (!next(content::gradient, how, t) || !placed(p_.gradients[t], 0)) return false;
    if (first && !whole) return breaks(plan_rule::gradient_contributions_are_summed_once, t);
    if (!write(false) || !owns(content::gradient, root, gradient_begun_[root])) return false;
    return arrive_gradient(t);
  }

  [[gnu::cold]] constexpr bool parameter(int k, access how) {
    return next(content::parameter, how, k) && placed({p_.parameter_buffers[k], 0}, 0) &&
           (how == access::read ? read() : write(false));
  }
  [[gnu::cold]] constexpr bool parameter_gradient(int k, access how = access::write) {
    return next(content::parameter_gradient, how, k) && placed({p_.parameter_gradient_buffers[k], 0}, 0) &&
           write(false);
  }

  /// What a node keeps for its backward pass, and what the loss reads and writes: in any buffer that fits.
  [[gnu::cold]] constexpr bool write_other(content what, int index, contents const& c) {
    if (!next(what, access::write, index)) return false;
    if (!fits(p_, current().buffer, c) || current().channel != 0)
      return breaks(plan_rule::buffers_fit_what_they_hold, current().buffer);
    if (!write(false)) return false;
    buffers_[current().buffer].take(what, index);
    return true;
  }
  [[gnu::cold]] constexpr bool read_other(content what, int index, int buffer) {
    return next(what, access::read, index) && placed({buffer, 0}, 0) && holds(what, index) && read();
  }

  /// The operand that was checked last.
  [[gnu::cold]] constexpr operand const& current() const { return p_.operands[at_ - 1]; }

  // ---- what the host reads behind the last step ----

  [[gnu::cold]] constexpr bool stays_to_the_end(int buffer, content what, int index) {
    if (buffer < 0 || buffer >= buffers_.size() || !buffers_[buffer].is(what, index))
      return breaks(plan_rule::values_live_to_their_last_use, index);
    buffers_[buffer].life.last = p_.steps.size() - 1;
    return true;
  }
  [[gnu::cold]] constexpr bool has_arrived(int t) const { return missing_[activations_.original[t]] == 0; }
  [[gnu::cold]] constexpr list<lifetime> lifetimes() const {
    list<lifetime> all(buffers_.size());
    for (int b = 0; b < buffers_.size(); ++b) all[b] = buffers_[b].life;
    return all;
  }

 private:
  struct state {
    lifetime life{};
    content what = content::activation;
    int owner = -1;         // root tensor, or node
    int writer = -1;        // last step that wrote it
    int first_reader = -1;  // of the current group
    int last_reader = -1;

    constexpr bool is(content c, int index) const { return what == c && owner == index; }
    constexpr void take(content c, int index) { what = c, owner = index; }
  };

  [[gnu::cold]] constexpr bool next(content what, access how, int index) {
    step const& s = p_.steps[step_];
    if (at_ >= s.first_operand + s.operands) return breaks(plan_rule::operands_are_what_the_step_needs);
    operand const& o = p_.operands[at_++];
    return (o.what == what && o.how == how && o.index == index) ||
           breaks(plan_rule::operands_are_what_the_step_needs, index);
  }
  [[gnu::cold]] constexpr bool placed(placement const& at, int slice) {
    operand const& o = current();
    return (at.buffer >= 0 && at.buffer < buffers_.size() && o.buffer == at.buffer &&
            o.channel == at.channel + slice) ||
           breaks(plan_rule::operands_are_what_the_step_needs, o.index);
  }

  [[gnu::cold]] constexpr bool holds(content what, int index) {
    return buffers_[current().buffer].is(what, index) || breaks(plan_rule::values_live_to_their_last_use, index);
  }
  /// A root's first write ends the life of what was in its buffer. Once begun, a root must not lose the buffer.
  [[gnu::cold]] constexpr bool owns(content what, int root, bool& begun) {
    state& b = buffers_[current().buffer];
    if (begun) return b.is(what, root) || breaks(plan_rule::values_live_to_their_last_use, root);
    b.take(what, root);
    return begun = true;
  }

  [[gnu::cold]] constexpr bool read() {
    state& b = buffers_[current().buffer];
    if (b.writer >= time_ && b.writer != step_) return breaks(plan_rule::groups_are_independent, current().buffer);
    if (b.first_reader < time_) b.first_reader = step_;
    b.last_reader = step_;
    use(b);
    return true;
  }
  /// `another_slice`: the steps of a group may write different slices of one value.
  [[gnu::cold]] constexpr bool write(bool another_slice) {
    state& b = buffers_[current().buffer];
    bool const read_by_others =
        (b.first_reader >= time_ && b.first_reader != step_) || (b.last_reader >= time_ && b.last_reader != step_);
    bool const written_by_others = b.writer >= time_ && b.writer != step_ && !another_slice;
    if (read_by_others || written_by_others) return breaks(plan_rule::groups_are_independent, current().buffer);
    if (b.last_reader == step_ && !overwrites_safely()) return false;
    b.writer = step_;
    use(b);
    return true;
  }
  [[gnu::cold]] constexpr void use(state& b) const {
    if (b.life.first < 0) b.life.first = time_;
    b.life.last = time_;
  }

  /// The current operand is written into a buffer that its step reads: into other channels, or, elementwise, into the
  /// same ones.
  [[gnu::cold]] constexpr bool overwrites_safely() {
    step const& s = p_.steps[step_];
    bool const elementwise =
        (s.what == action::forward && (s.kind == op::activation || s.kind == op::dropout)) ||
        (s.what == action::backward && (s.kind == op::activation || s.kind == op::dropout || s.kind == op::batch_norm));
    operand const& w = current();
    for (int i = s.first_operand; i < at_ - 1; ++i) {
      operand const& r = p_.operands[i];
      if (r.buffer != w.buffer || r.how != access::read) continue;
      bool const tensors = r.what <= content::gradient && w.what <= content::gradient;
      bool const apart = tensors && (r.channel + extent(r) <= w.channel || w.channel + extent(w) <= r.channel);
      bool const same = tensors && r.channel == w.channel && g_.shape_of(r.index) == g_.shape_of(w.index);
      if (!apart && !(same && elementwise))
        return breaks(plan_rule::only_elementwise_steps_overwrite_their_input, w.buffer);
    }
    return true;
  }
  /// Channels of its buffer that a tensor operand covers.
  [[gnu::cold]] constexpr long long extent(operand const& o) const {
    step const& s = p_.steps[step_];
    bool const copies = s.what == action::copy_forward || s.what == action::copy_backward;
    int const tensor = copies ? g_.input(g_.nodes[s.node], s.edge) : o.index;
    return g_.shape_of(tensor).size() / p_.buffers[o.buffer].shape.area();
  }

  /// A value, or one part of a concat's, is there; so may be the concats that it is a slice of.
  [[gnu::cold]] constexpr void arrive(int t) {
    while (t >= 0 && --missing_[t] == 0) t = activations_.parent[t];
  }
  /// One contribution to a gradient is there. The last one completes those of its slices and of what it renames, too.
  [[gnu::cold]] constexpr bool arrive_gradient(int tensor) {
    list<int> arrived;
    for (int t = tensor;;) {
      if (--contributions_[t] < 0) return breaks(plan_rule::gradient_contributions_are_summed_once, t);
      node const& x = g_.nodes[g_.tensors[t].producer];
      if (contributions_[t] == 0)
        for (int i = 0; i < x.inputs; ++i)
          if (gradients_.shared[x.first_input + i]) arrived.push(g_.input(x, i));
      if (arrived.size() == 0) return true;
      t = arrived[arrived.size() - 1];
      arrived.erase(arrived.size() - 1);
    }
  }

  graph_view const& g_;
  plan const& p_;
  sharing const& activations_;
  sharing const& gradients_;
  list<state> buffers_;
  list<int> missing_;            // per tensor: parts that have not been written yet
  list<bool> activation_begun_;  // per root
  list<bool> gradient_begun_;    // per root
  list<int> contributions_;      // per tensor: gradient contributions that have not arrived yet
  plan_verdict verdict_{};
  int step_ = -1;
  int time_ = 0;
  int at_ = 0;
};

}  // namespace dsl::detail::checking
