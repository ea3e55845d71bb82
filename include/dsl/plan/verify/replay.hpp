// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/memory.hpp>

namespace dsl::detail::checking {

/// The content of a buffer, and the step that wrote it.
struct buffer_state {
  lifetime life{};
  content what = content::activation;
  int micro = -1;         // the micro-batch that it belongs to
  int owner = -1;         // root tensor, node, or parameter
  int writer = -1;        // last step that wrote it
  int first_reader = -1;  // of the current group
  int last_reader = -1;

  constexpr bool is(content c, int m, int index) const { return what == c && micro == m && owner == index; }
  constexpr void take(content c, int m, int index) { what = c, micro = m, owner = index; }
};

/// Goes through a plan without computing numbers, and records which value each buffer has. There is one call per
/// operand. A call takes constant time, and more only if the value completes the inputs of concats.
class replay {
 public:
  constexpr replay(graph_view const& g, plan const& p, layout const& l)
      : g_(g),
        p_(p),
        activations_(l.activations),
        gradients_(l.gradients),
        buffers_(p.buffers.size()),
        micros_(p.micro_batches) {
    for (progress& m : micros_) {
      m.missing = list<int>(g.size.tensors, 1);
      m.activation_begun = list<bool>(g.size.tensors);
      m.gradient_begun = list<bool>(g.size.tensors);
      m.contributions = l.graph.readers;
      for (int n = 0; n < g.size.nodes; ++n)
        if (g.nodes[n].kind == op::concat) m.missing[g.nodes[n].output] = g.nodes[n].inputs;
      for (int n = 0; n < g.size.nodes; ++n)
        if (l.graph.loss_from_logits(g, n)) --m.contributions[g.nodes[n].output];
      if (p.again.size() == 0) continue;
      m.missing_again = m.missing;
      m.again_begun = list<bool>(g.size.tensors);
    }
    turn_to(0);
  }

  constexpr plan_verdict const& verdict() const { return verdict_; }

  /// Begins a step. The steps of one group run together: a buffer that one uses counts as in use from the group's first
  /// step on.
  constexpr void begin(int index) {
    step const* const before = step_ < 0 ? nullptr : &p_.steps[step_];  // of the part before, if it has ended
    step const& s = p_.steps[index];
    if (!before || s.group < 0 || s.group != before->group || s.what != before->what || s.micro != before->micro)
      time_ = index;
    step_ = index;
    now_running_ = &s;
    at_ = s.first_operand;
    end_ = s.first_operand + s.operands;
    verdict_.step = index;
    if (s.micro != micro_) turn_to(s.micro);
  }
  /// Selects the micro-batch that the functions below are about. It must exist.
  constexpr void turn_to(int micro) {
    micro_ = micro;
    now_ = &micros_[micro];
    shared_activations_ = &activations_[micro];
    shared_gradients_ = &gradients_[micro];
    activation_places_ = p_.activations.begin() + micro * g_.size.tensors;
    gradient_places_ = p_.gradients.begin() + micro * g_.size.tensors;
  }
  constexpr bool end() { return at_ == end_ || breaks(plan_rule::operands_are_what_the_step_needs); }
  constexpr bool breaks(plan_rule r, int index = -1) {
    verdict_ = {.broken = r, .step = step_, .index = index};
    return false;
  }

  // ---- operands, in the order in which a step must have them ----

  constexpr bool read_activation(int t) {
    if (!next(content::activation, access::read, t)) return false;
    int const second = second_buffer_of(t);
    bool const again = second >= 0 && current().buffer == second;
    if (!placed(again ? placement{second, activation_places_[t].channel} : activation_places_[t], 0)) return false;
    list<int> const& missing = again ? now_->missing_again : now_->missing;
    if (missing[shared_activations_->original[t]] > 0) return breaks(plan_rule::every_read_has_its_write, t);
    return holds(content::activation, shared_activations_->root[t]) && read();
  }
  /// Writes a whole output or, for a copy, the channels of a concat's output from `slice` on. If a step computes a
  /// value a second time, it writes to the second buffer.
  constexpr bool write_activation(int t, int slice = 0) {
    bool const again = now_running_->again;
    placement to = activation_places_[t];
    if (again) to.buffer = second_buffer_of(t);
    if (!next(content::activation, access::write, t) || !placed(to, slice)) return false;
    int const root = shared_activations_->root[t];
    if (!write(state_->is(content::activation, micro_, root))) return false;
    if (!owns(content::activation, root, (again ? now_->again_begun : now_->activation_begun)[root])) return false;
    arrive(t, again ? now_->missing_again : now_->missing);
    return true;
  }

  constexpr bool read_gradient(int t, int slice = 0) {
    if (!next(content::gradient, access::read, t) || !placed(gradient_places_[t], slice)) return false;
    if (!now_->gradient_begun[shared_gradients_->root[t]]) return breaks(plan_rule::every_read_has_its_write, t);
    if (now_->contributions[t] > 0) return breaks(plan_rule::gradients_are_complete_when_read, t);
    return holds(content::gradient, shared_gradients_->root[t]) && read();
  }
  constexpr bool contribute(int t) {
    int const root = shared_gradients_->root[t];
    bool const first = !now_->gradient_begun[root];
    bool const whole = shared_gradients_->original[t] == root;
    access const how = first ? access::write : access::accumulate;
    if (at_ < p_.operands.size() && p_.operands[at_].what == content::gradient && p_.operands[at_].how != how)
      return breaks(plan_rule::gradient_contributions_are_summed_once, t);
    if (!next(content::gradient, how, t) || !placed(gradient_places_[t], 0)) return false;
    if (first && !whole) return breaks(plan_rule::gradient_contributions_are_summed_once, t);
    if (!write(false) || !owns(content::gradient, root, now_->gradient_begun[root])) return false;
    return arrive_gradient(t);
  }

  constexpr bool parameter(int k, access how) {
    return next(content::parameter, how, k) && placed({p_.parameter_buffers[k], 0}, 0) &&
           (how == access::read ? read() : write(false));
  }
  /// Uses the sum of all micro-batches' gradients of a parameter.
  constexpr bool parameter_gradient(int k, access how = access::write) {
    return next(content::parameter_gradient, how, k) && placed({p_.parameter_gradient_buffers[k], 0}, 0) &&
           write(false);
  }

  /// Writes a value that is neither a tensor nor a parameter into any buffer that fits: the values that a node saves
  /// for its backward pass, labels, metrics, or a later micro-batch's gradient of a parameter.
  constexpr bool write_other(content what, int index, contents const& c) {
    if (!next(what, access::write, index)) return false;
    if (!fits(p_, current().buffer, c) || current().channel != 0)
      return breaks(plan_rule::buffers_fit_what_they_hold, current().buffer);
    state_ = &buffers_[current().buffer];
    if (!write(false)) return false;
    state_->take(what, micro_, index);
    return true;
  }
  constexpr bool read_other(content what, int index, int buffer, int channel = 0) {
    return next(what, access::read, index) && placed({buffer, channel}, 0) && holds(what, index) && read();
  }

  /// Adds to the metrics of an output that an earlier micro-batch wrote.
  constexpr bool accumulate_metrics(int output) {
    if (!next(content::metrics, access::accumulate, output)) return false;
    int const b = current().buffer;
    if (b < 0 || b >= buffers_.size() || current().channel != 0)
      return breaks(plan_rule::operands_are_what_the_step_needs, output);
    state_ = &buffers_[b];
    bool const kept = state_->is(content::metrics, 0, output);
    return (kept || breaks(plan_rule::values_live_to_their_last_use, output)) && write(false);
  }
  /// Returns the buffer of an output's metrics, or -1.
  constexpr int metrics_of(int output) const {
    for (int b = 0; b < buffers_.size(); ++b)
      if (buffers_[b].is(content::metrics, 0, output)) return b;
    return -1;
  }

  /// Returns the operand that was checked last.
  constexpr operand const& current() const { return *current_; }

  // ---- what the host reads after the last step ----

  constexpr bool stays_to_the_end(int buffer, content what, int index) {
    if (buffer < 0 || buffer >= buffers_.size() || !buffers_[buffer].is(what, micro_, index))
      return breaks(plan_rule::values_live_to_their_last_use, index);
    buffers_[buffer].life.last = p_.steps.size() - 1;
    return true;
  }
  constexpr bool has_arrived(int t) const { return now_->missing[shared_activations_->original[t]] == 0; }
  constexpr list<lifetime> lifetimes() const {
    list<lifetime> all(buffers_.size());
    for (int b = 0; b < buffers_.size(); ++b) all[b] = buffers_[b].life;
    return all;
  }

  /// Moves the state of the replay into a snapshot, or out of it.
  template <class Snapshot, class Move>
  constexpr void exchange(Snapshot& s, Move move) {
    move(buffers_, s.buffers);
    for (int m = 0; m < micros_.size(); ++m) {
      int const first = m * g_.size.tensors;
      move(micros_[m].missing, s.missing + first);
      move(micros_[m].activation_begun, s.activation_begun + first);
      move(micros_[m].gradient_begun, s.gradient_begun + first);
      move(micros_[m].contributions, s.contributions + first);
    }
    move(step_, s.step);
    move(time_, s.time);
  }

 private:
  /// The state of a micro-batch.
  struct progress {
    list<int> missing{};            // per tensor: number of parts not written yet
    list<bool> activation_begun{};  // per root
    list<bool> gradient_begun{};    // per root
    list<int> contributions{};      // per tensor: number of gradient contributions still missing
    list<int> missing_again{};      // as above, of values that are computed again; empty if there are none
    list<bool> again_begun{};
  };
  using state = buffer_state;

  /// Returns the buffer into which a tensor is computed a second time, or -1 if it is not.
  constexpr int second_buffer_of(int t) const {
    int const b = activation_places_[t].buffer;
    return b >= 0 && b < p_.again.size() ? p_.again[b] : -1;
  }
  constexpr bool next(content what, access how, int index) {
    if (at_ >= end_) return breaks(plan_rule::operands_are_what_the_step_needs);
    operand const& o = p_.operands[at_++];
    current_ = &o;
    return (o.what == what && o.how == how && o.index == index) ||
           breaks(plan_rule::operands_are_what_the_step_needs, index);
  }
  constexpr bool placed(placement const& at, int slice) {
    operand const& o = current();
    bool const right =
        at.buffer >= 0 && at.buffer < buffers_.size() && o.buffer == at.buffer && o.channel == at.channel + slice;
    if (!right) return breaks(plan_rule::operands_are_what_the_step_needs, o.index);
    state_ = &buffers_[at.buffer];
    return true;
  }

  constexpr bool holds(content what, int index) {
    return state_->is(what, micro_, index) || breaks(plan_rule::values_live_to_their_last_use, index);
  }
  /// At the first write of a root, records that the root has the buffer, which ends the life of the buffer's former
  /// content. At later writes, checks that the root still has it.
  constexpr bool owns(content what, int root, bool& begun) {
    state& b = *state_;
    if (begun) return b.is(what, micro_, root) || breaks(plan_rule::values_live_to_their_last_use, root);
    b.take(what, micro_, root);
    return begun = true;
  }

  constexpr bool read() {
    state& b = *state_;
    step const& s = *now_running_;
    bool const may_be_anothers = s.kind == op::transfer || current().what == content::squares;
    if (p_.buffers[current().buffer].device != s.device && !may_be_anothers)
      return breaks(plan_rule::steps_use_their_devices_memory, current().buffer);
    if (b.writer >= time_ && b.writer != step_) return breaks(plan_rule::groups_are_independent, current().buffer);
    if (b.first_reader < time_) b.first_reader = step_;
    b.last_reader = step_;
    use(b);
    return true;
  }
  /// Checks a write. With `another_slice`, the buffer may have other slices of the same value, which other steps of a
  /// group have written.
  constexpr bool write(bool another_slice) {
    state& b = *state_;
    if (p_.buffers[current().buffer].device != now_running_->device)
      return breaks(plan_rule::steps_use_their_devices_memory, current().buffer);
    bool const read_by_others =
        (b.first_reader >= time_ && b.first_reader != step_) || (b.last_reader >= time_ && b.last_reader != step_);
    bool const written_by_others = b.writer >= time_ && b.writer != step_ && !another_slice;
    if (read_by_others || written_by_others) return breaks(plan_rule::groups_are_independent, current().buffer);
    if (b.last_reader == step_ && !overwrites_safely()) return false;
    b.writer = step_;
    use(b);
    return true;
  }
  constexpr void use(state& b) const {
    if (b.life.first < 0) b.life.first = time_;
    b.life.last = time_;
  }

  /// Whether the current operand may be written into a buffer that its step reads. It may be if the channels are
  /// different, or if the operation is elementwise and the channels are the same.
  constexpr bool overwrites_safely() {
    step const& s = *now_running_;
    operand const& w = current();
    for (int i = s.first_operand; i < at_ - 1; ++i) {
      operand const& r = p_.operands[i];
      if (r.buffer != w.buffer || r.how != access::read) continue;
      bool const tensors = r.what <= content::gradient && w.what <= content::gradient;
      bool const apart = tensors && (r.channel + extent(r) <= w.channel || w.channel + extent(w) <= r.channel);
      bool const same = tensors && r.channel == w.channel && g_.shape_of(r.index) == g_.shape_of(w.index);
      if (!apart && !(same && may_overwrite(s, r)))
        return breaks(plan_rule::only_elementwise_steps_overwrite_their_input, w.buffer);
    }
    return true;
  }
  /// Whether a step's operation gives the same result if the result overwrites the operand `read`.
  constexpr bool may_overwrite(step const& s, operand const& read) const {
    if (s.node < 0) return false;
    operations::row const& row = facts_of(g_.nodes[s.node]);
    if (s.what == action::forward) return row.forward_in_place;
    if (s.what != action::backward) return false;
    if (read.what == content::gradient) return row.gradient_in_place;
    return row.gradient_over_input && read.index == g_.input(g_.nodes[s.node], s.edge);
  }
  /// Returns the number of the buffer's channels that a tensor operand covers.
  constexpr long long extent(operand const& o) const {
    step const& s = *now_running_;
    bool const copies = s.what == action::copy_forward || s.what == action::copy_backward;
    int const tensor = copies ? g_.input(g_.nodes[s.node], s.edge) : o.index;
    return g_.shape_of(tensor).size() / p_.buffers[o.buffer].shape.area();
  }

  /// Records that a value, or a part of a concat's value, has been written; this may complete the concats that contain
  /// it.
  constexpr void arrive(int t, list<int>& missing) const {
    while (t >= 0 && --missing[t] == 0) t = shared_activations_->parent[t];
  }
  /// Records one contribution to a gradient. The last contribution also completes the gradients of the tensor's slices
  /// and of the tensor that it renames.
  constexpr bool arrive_gradient(int tensor) {
    list<int> arrived;
    for (int t = tensor;;) {
      if (--now_->contributions[t] < 0) return breaks(plan_rule::gradient_contributions_are_summed_once, t);
      node const& x = g_.nodes[g_.tensors[t].producer];
      if (now_->contributions[t] == 0)
        for (int i = 0; i < x.inputs; ++i)
          if (shared_gradients_->shared[x.first_input + i]) arrived.push(g_.input(x, i));
      if (arrived.size() == 0) return true;
      t = arrived[arrived.size() - 1];
      arrived.erase(arrived.size() - 1);
    }
  }

  graph_view const& g_;
  plan const& p_;
  list<sharing> const& activations_;  // per micro-batch
  list<sharing> const& gradients_;
  list<state> buffers_;
  list<progress> micros_;
  plan_verdict verdict_{};
  int micro_ = -1;  // that of the current step; the pointers below belong to it
  progress* now_ = nullptr;
  sharing const* shared_activations_ = nullptr;
  sharing const* shared_gradients_ = nullptr;
  placement const* activation_places_ = nullptr;
  placement const* gradient_places_ = nullptr;
  int step_ = -1;
  int time_ = 0;
  step const* now_running_ = nullptr;  // number step_
  int at_ = 0;                         // the operand that next() checks
  int end_ = 0;                        // after the step's last operand
  operand const* current_ = nullptr;   // that next() has checked
  state* state_ = nullptr;             // of its buffer, once that is known to exist
};

}  // namespace dsl::detail::checking
