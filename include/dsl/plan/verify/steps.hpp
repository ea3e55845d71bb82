// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/replay.hpp>

namespace dsl::detail::checking {

/// Checks which steps there are and which operands each has, from the graph alone:
///   load             -> input, labels, or one of them; a further input
///   forward          inputs, parameters, a cancelled bias before batch_norm -> statistics, argmax or states, output
///   forward again    the same without running statistics, argmax and states; it reads a batch_norm's statistics
///   copy_forward     input -> its slice of the output
///   loss             an output, labels -> its metrics, gradient
///   backward         input and output as the derivative needs them, statistics, gamma, beta, their gradients,
///                    argmax, output's gradient -> input's gradient
///   backward_weights input, output's gradient -> the parameters' gradients
///   backward_data    output's gradient, kernel -> input's gradient
///   copy_backward    the input's slice of the output's gradient -> input's gradient
///   add_gradients    a parameter's gradient of a later micro-batch -> the sum of those before
///   all_reduce       gradients of parameters that are neighbours in memory
///   measure          -> the sum of the device's squared gradients, over the whole region
///   update           each device's sum of squares if measured; it works on whole regions
class step_checker {
 public:
  /// The progress of a node: the steps seen so far, and the buffers that the node's backward pass needs.
  struct progress {
    bool forward = false;
    bool backward = false;
    bool backward_data = false;
    bool again = false;
    int batch_norm = -1;  // fused into it
    int activation = -1;  // the relu fused into it
    int kept = -1;        // buffer: statistics, argmax or states
  };
  struct copies {
    bool forward = false;
    bool backward = false;
    bool again = false;
  };
  /// The parts of a micro-batch that have been loaded.
  struct arrival {
    bool pictures = false;
    bool labels = false;
    int kept_labels = -1;  // buffer
  };
  /// The state of a parameter's gradient.
  struct summation {
    int written = 0;       // number of micro-batches whose gradient has been written
    int summed = 0;        // number of them in the sum
    int beside = -1;       // buffer of the gradient to be added next
    bool reduced = false;  // whether it has been summed over all towers
  };

  [[gnu::cold]] constexpr step_checker(graph_view const& g, plan const& p, layout const& l)
      : g_(g),
        p_(p),
        facts_(l.graph),
        activations_(l.activations),
        gradients_(l.gradients),
        memory_(g, p, l),
        micros_(p.micro_batches),
        parameters_(g.size.parameters),
        measured_(g.size.devices, -1),
        updated_(g.size.devices) {
    for (micro& m : micros_) {
      m.nodes = list<progress>(g.size.nodes);
      m.copied = list<copies>(g.size.edges);
    }
  }

  /// Checks the steps [first, end). If the last of them is the plan's last step, completes the check.
  [[gnu::cold]] constexpr plan_verdict run(int first, int end) {
    for (int s = first; s < end; ++s)
      if (!check(s)) return memory_.verdict();
    if (end == p_.steps.size() && !check_end()) return memory_.verdict();
    return {};
  }
  [[gnu::cold]] constexpr list<lifetime> lifetimes() const { return memory_.lifetimes(); }

  /// Copies the state of the check into a snapshot, or from a snapshot.
  template <class Snapshot, class Move>
  [[gnu::cold]] constexpr void exchange(Snapshot& s, Move move) {
    memory_.exchange(s, move);
    for (int m = 0; m < micros_.size(); ++m) {
      move(micros_[m].nodes, s.nodes + m * g_.size.nodes);
      move(micros_[m].copied, s.copied + m * g_.size.edges);
      move(micros_[m].batch, s.batches[m]);
    }
    move(parameters_, s.parameters);
    move(measured_, s.measured);
    move(updated_, s.updated);
    move(losses_, s.losses);
  }

 private:
  struct micro {
    list<progress> nodes{};
    list<copies> copied{};  // per edge
    arrival batch{};
  };

  [[gnu::cold]] constexpr bool breaks(plan_rule r, int index = -1) { return memory_.breaks(r, index); }
  [[gnu::cold]] constexpr bool once(bool& done, int n) {
    if (done) return breaks(plan_rule::every_node_runs_once, n);
    return done = true;
  }
  [[gnu::cold]] constexpr bool is_node(int n) const { return n >= 0 && n < g_.size.nodes; }

  [[gnu::cold]] constexpr bool check(int index) {
    step const& s = p_.steps[index];
    if (s.micro < 0 || s.micro >= p_.micro_batches) return breaks(plan_rule::steps_fit_their_node);
    memory_.begin(index);
    micro_ = s.micro;
    now_ = &micros_[micro_];
    if (s.device < 0 || s.device >= g_.size.devices) return breaks(plan_rule::steps_use_their_devices_memory);
    if (updated_[s.device]) return breaks(plan_rule::parameters_are_updated_once_after_their_gradients);
    int const end = p_.operands.size();
    if (s.operands < 0 || s.first_operand < 0 || s.first_operand > end || s.operands > end - s.first_operand)
      return breaks(plan_rule::operands_are_what_the_step_needs);
    return names_its_node(s) && operands_of(s) && memory_.end();
  }

  /// Checks the fields by which executors choose a kernel, or allow a transfer to read another device's memory.
  [[gnu::cold]] constexpr bool names_its_node(step const& s) {
    bool const of_no_node =
        s.what == action::load || s.what == action::all_reduce || s.what == action::measure || s.what == action::update;
    bool const computes_a_node = !of_no_node && s.what != action::loss;
    bool const of_further_input = s.what == action::load && is_node(s.node) && is_further_input(g_, s.node);
    bool const right = of_no_node ? s.node == -1 || of_further_input : is_node(s.node);
    op const kind = right && computes_a_node ? g_.nodes[s.node].kind : op::input;
    bool const alone = computes_a_node || (s.batch_norm < 0 && s.activation < 0);
    if (s.again && (!facts_.training || (s.what != action::forward && s.what != action::copy_forward)))
      return breaks(plan_rule::what_runs_again_repeats_the_first_time, s.node);
    return (right && s.kind == kind && alone) || breaks(plan_rule::steps_fit_their_node, s.node);
  }

  [[gnu::cold]] constexpr bool operands_of(step const& s) {
    switch (s.what) {
      case action::load: return load(s);
      case action::forward: return s.again ? forward_again(s, g_.nodes[s.node]) : forward(s, g_.nodes[s.node]);
      case action::copy_forward: return copy_forward(s, g_.nodes[s.node]);
      case action::loss: return compute_loss(s);
      case action::all_reduce: return all_reduce(s);
      case action::measure: return measure(s);
      case action::update: return update(s);
      case action::add_gradients: return add_gradients(s, g_.nodes[s.node]);
      case action::backward:
      case action::backward_weights:
      case action::backward_data:
      case action::copy_backward: break;
    }
    node const& x = g_.nodes[s.node];
    bool const fused = s.batch_norm >= 0 || (s.activation >= 0 && x.kind != op::batch_norm);
    if (fused || !facts_.needs_gradient[x.output]) return breaks(plan_rule::steps_fit_their_node, s.node);
    if (s.what == action::copy_backward) return copy_backward(s, x);
    return backward(s, x);
  }

  [[gnu::cold]] constexpr bool load(step const& s) {
    if (s.node >= 0)
      return once(now_->nodes[s.node].forward, s.node) && memory_.write_activation(g_.nodes[s.node].output);
    if (s.operands == 0) return breaks(plan_rule::the_batch_is_loaded_first);
    bool const with_pictures = p_.operands[s.first_operand].what == content::activation;
    bool const with_labels = s.operands > (with_pictures ? 1 : 0);
    if ((with_pictures && now_->batch.pictures) || (with_labels && now_->batch.labels))
      return breaks(plan_rule::the_batch_is_loaded_first);
    if (with_pictures && !memory_.write_activation(g_.nodes[0].output)) return false;
    if (with_pictures) now_->batch.pictures = now_->nodes[0].forward = true;
    if (!with_labels) return true;
    shape targets{};
    if (p_.options.targets.count > 0) {
      targets.channels = 0;
      for (int n = 0; n < g_.size.nodes; ++n)
        if (facts::gives_output(g_, n)) targets.channels += numbers_wanted(n);
    } else {
      if (p_.options.targets[0] != target_kind::classes) targets = g_.shape_of(g_.result());
      if (p_.options.targets[0] == target_kind::pixel_classes) targets.channels = 1;
    }
    contents const c{.shape = targets, .samples = samples_in(p_, micro_), .device = g_.nodes[g_.size.nodes - 1].device};
    if (p_.options.mode == mode::inference || !memory_.write_other(content::labels, 0, c))
      return memory_.verdict().holds() ? breaks(plan_rule::the_batch_is_loaded_first) : false;
    now_->batch.labels = true;
    now_->batch.kept_labels = memory_.current().buffer;
    return micro_ > 0 || now_->batch.kept_labels == p_.labels || breaks(plan_rule::operands_are_what_the_step_needs);
  }

  /// Returns how many targets of a sample the output of node n is compared with, if each output has its own.
  [[gnu::cold]] constexpr int numbers_wanted(int n) const {
    shape const& out = g_.output_shape(g_.nodes[n]);
    target_kind const kind = p_.options.targets[facts::number_of_output(g_, n)];
    if (kind == target_kind::classes) return 1;
    return out.height * out.width * (kind == target_kind::values ? out.channels : 1);
  }

  /// Whether the step of node n may also compute `next`. No other node may read the value between the two.
  [[gnu::cold]] constexpr bool fuses(int n, int next, op kind) {
    bool const allowed = is_node(next) && g_.nodes[next].kind == kind &&
                         (kind != op::activation || g_.nodes[next].function == function::relu) &&
                         facts_.only_reader(g_.nodes[n].output, next);
    return (allowed && once(now_->nodes[next].forward, next)) || breaks(plan_rule::fused_values_have_one_reader, next);
  }

  [[gnu::cold]] constexpr bool forward(step const& s, node const& x) {
    operations::row const& row = facts_of(x);
    bool const nothing_to_do =
        x.kind == op::input || x.kind == op::concat ||
        (row.renames == operations::renames::in_inference && !facts_.training) ||
        (row.renames == operations::renames::without_blocks && activations_[micro_].shared[x.first_input]);
    if (nothing_to_do) return breaks(plan_rule::steps_fit_their_node, s.node);
    if (!once(now_->nodes[s.node].forward, s.node)) return false;
    bool const moves_statistics = facts_.training && row.kept == operations::kept::statistics;
    if (moves_statistics && micro_ > 0 && !micros_[micro_ - 1].nodes[s.node].forward)
      return breaks(plan_rule::micro_batches_come_in_order, s.node);
    int last = s.node;
    bool const convolves = x.kind == op::conv2d && !facts_.needs_gradient[x.output];
    if (s.batch_norm >= 0) {
      if (!convolves) return breaks(plan_rule::steps_fit_their_node, s.node);
      if (!fuses(last, s.batch_norm, op::batch_norm)) return false;
      last = now_->nodes[s.node].batch_norm = s.batch_norm;
    }
    if (s.activation >= 0) {
      bool const normalises = x.kind == op::batch_norm && !(x.frozen && facts_.needs_gradient[x.output]);
      if (!convolves && !normalises) return breaks(plan_rule::steps_fit_their_node, s.node);
      if (!fuses(last, s.activation, op::activation)) return false;
      last = s.activation;
      now_->nodes[s.node].activation = s.activation;
    }
    for (int i = 0; i < x.inputs; ++i)
      if (!memory_.read_activation(g_.input(x, i))) return false;
    if (!parameters(x) || (s.batch_norm >= 0 && !parameters(g_.nodes[s.batch_norm]))) return false;
    return (!facts_.needs_gradient[x.output] || keep(s.node, x)) && memory_.write_activation(g_.nodes[last].output);
  }
  /// Checks a forward step that computes its value a second time.
  [[gnu::cold]] constexpr bool forward_again(step const& s, node const& x) {
    constexpr plan_rule rule = plan_rule::what_runs_again_repeats_the_first_time;
    progress& d = now_->nodes[s.node];
    bool const comes_from_elsewhere = x.kind == op::input || x.kind == op::transfer || x.kind == op::custom;
    bool const same = d.forward && s.batch_norm == d.batch_norm && s.activation == d.activation;
    if (comes_from_elsewhere || x.kind == op::concat || !same || d.again) return breaks(rule, s.node);
    d.again = true;
    for (int i = 0; i < x.inputs; ++i)
      if (!memory_.read_activation(g_.input(x, i))) return false;
    if (facts_of(x).kept == operations::kept::statistics) {
      for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k)
        if (!g_.parameters[k].is_statistic() && !memory_.parameter(k, access::read)) return false;
      if (!memory_.read_other(content::statistics, s.node, d.kept)) return false;
    } else if (!parameters(x) || (s.batch_norm >= 0 && !parameters(g_.nodes[s.batch_norm]))) {
      return false;
    }
    int const last = s.activation >= 0 ? s.activation : s.batch_norm >= 0 ? s.batch_norm : s.node;
    return memory_.write_activation(g_.nodes[last].output);
  }
  [[gnu::cold]] constexpr bool parameters(node const& x) {
    bool const without_bias = facts_.bias_is_cancelled(g_, x);
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
      dsl::parameter const& y = g_.parameters[k];
      if (without_bias && y.role == role::bias) continue;
      bool const moves = facts_.training && y.is_statistic() && !x.frozen;
      if (!memory_.parameter(k, moves ? access::accumulate : access::read)) return false;
    }
    return true;
  }
  /// Checks what a forward step saves in addition to its output, if the output's gradient is needed.
  [[gnu::cold]] constexpr bool keep(int n, node const& x) {
    target const& to = p_.options.target;
    operations::kept const what = facts_of(x).kept;
    if (what == operations::kept::statistics) {
      node const& before = g_.nodes[g_.tensors[g_.input(x)].producer];
      if (facts_.bias_is_cancelled(g_, before))
        for (int k = before.first_parameter; k < before.first_parameter + before.parameters; ++k)
          if (g_.parameters[k].role == role::bias && !memory_.parameter(k, access::read)) return false;
      int const out = now_->nodes[n].activation < 0 ? x.output : g_.nodes[now_->nodes[n].activation].output;
      int const b = p_.activations[micro_ * g_.size.tensors + out].buffer;
      int const rows = b >= 0 && b < p_.again.size() && p_.again[b] >= 0 ? 4 : 2;
      contents const c{
          .shape = {rows * g_.output_shape(x).channels, 1, 1}, .element_bytes = to.state_bytes, .device = x.device};
      if (!memory_.write_other(content::statistics, n, c)) return false;
      now_->nodes[n].kept = memory_.current().buffer;
    }
    if (what == operations::kept::argmax) {
      contents const c{.shape = g_.output_shape(x),
                       .block = expected_block(g_, to, x.output),
                       .element_bytes = x.window.height * x.window.width <= 256 ? 1 : 2,
                       .samples = samples_in(p_, micro_),
                       .device = x.device};
      if (!memory_.write_other(content::argmax, n, c)) return false;
      now_->nodes[n].kept = memory_.current().buffer;
    }
    if (what == operations::kept::states) {  // five numbers for each unit and place
      contents const c{.shape = {5 * g_.output_shape(x).channels, 1, g_.input_shape(x).width},
                       .element_bytes = to.state_bytes,
                       .samples = samples_in(p_, micro_),
                       .device = x.device};
      if (!memory_.write_other(content::states, n, c)) return false;
      now_->nodes[n].kept = memory_.current().buffer;
    }
    return true;
  }

  [[gnu::cold]] constexpr bool is_edge(step const& s, node const& x) const { return s.edge >= 0 && s.edge < x.inputs; }
  /// Returns the first channel of an input in its node's output: 0 except for a concat.
  [[gnu::cold]] constexpr int slice_of(step const& s, node const& x) const {
    int channel = 0;
    if (x.kind == op::concat)
      for (int i = 0; i < s.edge; ++i) channel += g_.input_shape(x, i).channels;
    return channel;
  }
  [[gnu::cold]] constexpr bool copy_forward(step const& s, node const& x) {
    if (x.kind != op::concat || !is_edge(s, x) || activations_[micro_].shared[x.first_input + s.edge])
      return breaks(plan_rule::steps_fit_their_node, s.node);
    copies& d = now_->copied[x.first_input + s.edge];
    if (s.again && (!d.forward || d.again)) return breaks(plan_rule::what_runs_again_repeats_the_first_time, s.node);
    return once(s.again ? d.again : d.forward, s.node) && memory_.read_activation(g_.input(x, s.edge)) &&
           memory_.write_activation(x.output, slice_of(s, x)) && comes_before_its_blocks_rest(s, x);
  }
  /// Checks the order of copies: executors that compute in whole blocks also write the rest of a tensor's last block.
  [[gnu::cold]] constexpr bool comes_before_its_blocks_rest(step const& s, node const& x) {
    if (p_.options.target.channel_block == channels_last) return true;
    placement const& at = p_.activations[micro_ * g_.size.tensors + x.output];
    int const block = p_.buffers[at.buffer].block;
    int begin = at.channel + slice_of(s, x);
    int const last = (begin + g_.input_shape(x, s.edge).channels - 1) / block;
    for (int i = s.edge; i + 1 < x.inputs; ++i) {
      begin += g_.input_shape(x, i).channels;
      if (begin / block > last) break;
      if (s.group >= 0) return breaks(plan_rule::groups_are_independent, s.node);  // a group has no order
      copies const& later = now_->copied[x.first_input + i + 1];
      if (s.again ? later.again : later.forward) return breaks(plan_rule::copies_fill_blocks_from_the_front, s.node);
    }
    return true;
  }
  [[gnu::cold]] constexpr bool copy_backward(step const& s, node const& x) {
    if (facts_of(x).gradients != operations::gradient_steps::copies || !is_edge(s, x) ||
        gradients_[micro_].shared[x.first_input + s.edge])
      return breaks(plan_rule::steps_fit_their_node, s.node);
    int const in = g_.input(x, s.edge);
    if (!facts_.needs_gradient[in]) return breaks(plan_rule::steps_fit_their_node, s.node);
    return once(now_->copied[x.first_input + s.edge].backward, s.node) &&
           memory_.read_gradient(x.output, slice_of(s, x)) && memory_.contribute(in);
  }

  [[gnu::cold]] constexpr bool compute_loss(step const& s) {
    if (p_.options.mode == mode::inference || !facts::gives_output(g_, s.node))
      return breaks(plan_rule::the_loss_is_computed_once);
    int output = 0, outputs = 1;  // the result's loss comes first, then those of further outputs in graph order
    for (int n = 0; n + 1 < g_.size.nodes; ++n)
      if (facts::gives_output(g_, n)) output = n == s.node ? outputs : output, ++outputs;
    int const expected = micro_ * outputs + output;
    if (losses_ > expected) return breaks(plan_rule::the_loss_is_computed_once);
    if (losses_++ != expected) return breaks(plan_rule::micro_batches_come_in_order);
    contents const metrics{.shape = {2, 1, 1}, .element_bytes = 8, .device = g_.nodes[s.node].device};
    int first_target = 0;  // the result's come first
    for (int n = 0; p_.options.targets.count > 0 && output > 0 && n < g_.size.nodes; ++n)
      if (facts::gives_output(g_, n) && (n < s.node || n + 1 == g_.size.nodes)) first_target += numbers_wanted(n);
    if (!memory_.read_activation(g_.nodes[s.node].output) ||
        !memory_.read_other(content::labels, 0, now_->batch.kept_labels, first_target) ||
        !(micro_ == 0 ? memory_.write_other(content::metrics, output, metrics) : memory_.accumulate_metrics(output)))
      return false;
    if (output == 0 && memory_.current().buffer != p_.metrics)
      return breaks(plan_rule::operands_are_what_the_step_needs);
    int const target = facts_.loss_target(g_, s.node);
    return !facts_.needs_gradient[target] || memory_.contribute(target);
  }

  /// Checks an update. check() makes sure that no further step of the same device follows.
  [[gnu::cold]] constexpr bool update(step const& s) {
    if (!facts_.training) return breaks(plan_rule::parameters_are_updated_once_after_their_gradients);
    for (int d = 0; p_.options.gradient_norm && d < g_.size.devices; ++d) {
      if (measured_[d] < 0) return breaks(plan_rule::gradients_are_measured_when_they_are_whole);
      if (!memory_.read_other(content::squares, d, measured_[d])) return false;
    }
    return updated_[s.device] = true;
  }
  /// Checks a step that measures the gradient norm: every gradient must be complete. Other checks ensure that none
  /// changes afterwards.
  [[gnu::cold]] constexpr bool measure(step const& s) {
    constexpr plan_rule rule = plan_rule::gradients_are_measured_when_they_are_whole;
    if (!facts_.training || !p_.options.gradient_norm || measured_[s.device] >= 0 || micro_ != p_.micro_batches - 1)
      return breaks(rule);
    for (int k = 0; k < g_.size.parameters; ++k) {
      dsl::parameter const& x = g_.parameters[k];
      if (!x.trainable() || g_.nodes[x.node].device != s.device) continue;
      bool const whole = parameters_[k].summed == p_.micro_batches || stays_zero(x);
      if (!whole || (p_.options.all_reduce_buckets > 0 && !parameters_[k].reduced)) return breaks(rule, k);
    }
    if (!memory_.write_other(content::squares, s.device, {.element_bytes = 8, .device = s.device})) return false;
    measured_[s.device] = memory_.current().buffer;
    return true;
  }

  /// Checks an all_reduce. Executors sum from the first operand's beginning to the last one's end.
  [[gnu::cold]] constexpr bool all_reduce(step const& s) {
    constexpr plan_rule rule = plan_rule::gradients_are_reduced_once_when_they_are_whole;
    if (!facts_.training || p_.options.all_reduce_buckets == 0 || s.operands == 0) return breaks(rule);
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p_.operands[s.first_operand + i];
      int const k = o.index;
      if (o.what != content::parameter_gradient || k < 0 || k >= g_.size.parameters || !g_.parameters[k].trainable())
        return breaks(rule, k);
      bool const whole = parameters_[k].summed == p_.micro_batches || stays_zero(g_.parameters[k]);
      if (!whole || parameters_[k].reduced || !memory_.parameter_gradient(k, access::accumulate))
        return breaks(rule, k);
      parameters_[k].reduced = true;
      if (i == 0) continue;
      buffer const& before = p_.buffers[p_.operands[s.first_operand + i - 1].buffer];
      if (p_.buffers[o.buffer].offset != before.offset + before.bytes) return breaks(rule, k);
    }
    return true;
  }
  [[gnu::cold]] constexpr bool stays_zero(dsl::parameter const& x) const {
    return x.role == role::bias && facts_.bias_is_cancelled(g_, g_.nodes[x.node]);
  }

  /// Checks the gradients of a node's trainable parameters, except that of a bias that the batch's mean cancels.
  [[gnu::cold]] constexpr bool parameter_gradients(node const& x) {
    bool const without_bias = facts_.bias_is_cancelled(g_, x);
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
      if (!g_.parameters[k].trainable() || (without_bias && g_.parameters[k].role == role::bias)) continue;
      summation& sum = parameters_[k];
      if (sum.written++ != micro_ || sum.summed != micro_) return breaks(plan_rule::micro_batches_come_in_order, k);
      if (micro_ == 0) {
        if (!memory_.parameter_gradient(k)) return false;
        sum.summed = 1;
        continue;
      }
      contents const c{.shape = {static_cast<int>(g_.parameters[k].count()), 1, 1},
                       .element_bytes = p_.options.target.state_bytes,
                       .device = x.device};
      if (!memory_.write_other(content::parameter_gradient, k, c)) return false;
      sum.beside = memory_.current().buffer;
    }
    return true;
  }
  [[gnu::cold]] constexpr bool add_gradients(step const& s, node const& x) {
    int const k = s.operands > 0 ? p_.operands[s.first_operand].index : -1;
    bool const own = k >= x.first_parameter && k < x.first_parameter + x.parameters;
    if (!facts_.training || !own) return breaks(plan_rule::steps_fit_their_node, s.node);
    summation& sum = parameters_[k];
    if (sum.summed != micro_ || sum.written != micro_ + 1) return breaks(plan_rule::micro_batches_come_in_order, k);
    ++sum.summed;
    return memory_.read_other(content::parameter_gradient, k, sum.beside) &&
           memory_.parameter_gradient(k, access::accumulate);
  }

  [[gnu::cold]] constexpr bool backward(step const& s, node const& x) {
    progress& d = now_->nodes[s.node];
    operations::row const& row = facts_of(x);
    bool const in_two_steps = row.gradients == operations::gradient_steps::weights_and_data;
    bool const has_steps = in_two_steps || row.gradients == operations::gradient_steps::one_an_input;
    bool const inside_another_step =
        (row.renames == operations::renames::without_blocks && gradients_[micro_].shared[x.first_input]) ||
        facts_.loss_from_logits(g_, s.node);
    if (!has_steps || in_two_steps != (s.what != action::backward) || inside_another_step)
      return breaks(plan_rule::steps_fit_their_node, s.node);
    if (!in_two_steps) return backward_of_input(s, x, row);
    int const in = g_.input(x);
    if (s.what == action::backward_weights)
      return (!x.frozen || breaks(plan_rule::steps_fit_their_node, s.node)) && once(d.backward, s.node) &&
             memory_.read_activation(in) && memory_.read_gradient(x.output) && parameter_gradients(x);
    if (s.what == action::backward_data)
      return (facts_.needs_gradient[in] || breaks(plan_rule::steps_fit_their_node, s.node)) &&
             once(d.backward_data, s.node) && memory_.read_gradient(x.output) &&
             memory_.parameter(x.first_parameter, access::read) && memory_.contribute(in);
    return breaks(plan_rule::steps_fit_their_node, s.node);
  }
  /// Checks a backward step that computes one input's gradient. The first input's step also computes the parameters'
  /// gradients, and runs for these even if the input's gradient is not needed.
  [[gnu::cold]] constexpr bool backward_of_input(step const& s, node const& x, operations::row const& row) {
    progress const& d = now_->nodes[s.node];
    if (!is_edge(s, x) || s.edge > 1 || s.activation != d.activation)
      return breaks(plan_rule::steps_fit_their_node, s.node);
    int const in = g_.input(x, s.edge);
    bool const wanted = facts_.needs_gradient[in];
    bool const first = s.edge == 0;
    if (!wanted && (!first || x.parameters == 0 || x.frozen)) return breaks(plan_rule::steps_fit_their_node, s.node);
    if (!once(now_->copied[x.first_input + s.edge].backward, s.node)) return false;
    operations::values const reads = row.reads[s.edge];
    if (contains(reads, operations::values::first_input) && !memory_.read_activation(g_.input(x, 0))) return false;
    if (contains(reads, operations::values::second_input) && !memory_.read_activation(g_.input(x, 1))) return false;
    if (contains(reads, operations::values::output) && !memory_.read_activation(x.output)) return false;
    if (row.kept == operations::kept::statistics && !memory_.read_other(content::statistics, s.node, d.kept))
      return false;
    if (row.kept == operations::kept::argmax && !memory_.read_other(content::argmax, s.node, d.kept)) return false;
    if (row.kept == operations::kept::states && !memory_.read_other(content::states, s.node, d.kept)) return false;
    int const out = d.activation < 0 ? x.output : g_.nodes[d.activation].output;
    for (int i = 0; i < x.parameters; ++i) {
      int const k = x.first_parameter + i;
      bool const masks_relu = d.activation >= 0 && g_.parameters[k].role == role::beta;
      bool const read = (row.parameters_read & 1U << i) != 0 || masks_relu;
      if (read && !memory_.parameter(k, access::read)) return false;
    }
    return (!first || parameter_gradients(x)) && memory_.read_gradient(out) && (!wanted || memory_.contribute(in));
  }

  /// Checks that no step is missing, and that the host finds what it reads after the run.
  [[gnu::cold]] constexpr bool check_end() {
    bool const inference = p_.options.mode == mode::inference;
    for (int m = p_.micro_batches - 1; m >= 0; --m) {
      memory_.turn_to(m);
      if (!micros_[m].batch.pictures || micros_[m].batch.labels == inference)
        return breaks(plan_rule::the_batch_is_loaded_first);
      for (int n = 1; n < g_.size.nodes; ++n) {
        node const& x = g_.nodes[n];
        bool const ran = x.kind == op::concat || only_renames(x, facts_.training) ? memory_.has_arrived(x.output)
                                                                                  : micros_[m].nodes[n].forward;
        if (!ran) return breaks(plan_rule::every_node_runs_once, n);
      }
      for (int n = 0; !facts_.training && n < g_.size.nodes; ++n) {
        int const out = g_.nodes[n].output;
        if (facts::gives_output(g_, n) && !memory_.stays_to_the_end(p_.activations[m * g_.size.tensors + out].buffer,
                                                                    content::activation, activations_[m].root[out]))
          return false;
      }
    }
    int outputs = 0;
    for (int n = 0; !inference && n < g_.size.nodes; ++n) outputs += facts::gives_output(g_, n) ? 1 : 0;
    if (losses_ != outputs * p_.micro_batches) return breaks(plan_rule::the_loss_is_computed_once);
    for (int k = 0; k < outputs; ++k)
      if (!memory_.stays_to_the_end(k == 0 ? p_.metrics : memory_.metrics_of(k), content::metrics, k)) return false;
    if (!facts_.training) return true;
    for (bool updated : updated_)
      if (!updated) return breaks(plan_rule::parameters_are_updated_once_after_their_gradients);
    for (int k = 0; k < g_.size.parameters; ++k) {
      dsl::parameter const& x = g_.parameters[k];
      if (!x.trainable()) continue;
      if (parameters_[k].summed != p_.micro_batches && !stays_zero(x))
        return breaks(plan_rule::parameters_are_updated_once_after_their_gradients, k);
      if (p_.options.all_reduce_buckets > 0 && !parameters_[k].reduced)
        return breaks(plan_rule::gradients_are_reduced_once_when_they_are_whole, k);
    }
    return true;
  }

  graph_view const& g_;
  plan const& p_;
  facts const& facts_;
  list<sharing> const& activations_;  // per micro-batch
  list<sharing> const& gradients_;
  replay memory_;
  list<micro> micros_;
  list<summation> parameters_;
  list<int> measured_;  // per device: buffer
  list<bool> updated_;  // per device
  int losses_ = 0;
  int micro_ = 0;
  micro* now_ = nullptr;
};

}  // namespace dsl::detail::checking
