// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/step_state.hpp>

namespace dsl::detail::checking {

/// Checks the steps of the forward pass, and the loss, with which it ends.
class forward_steps : public step_state {
 protected:
  using step_state::step_state;

  constexpr bool load(step const& s) {
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
  constexpr int numbers_wanted(int n) const {
    shape const& out = g_.output_shape(g_.nodes[n]);
    target_kind const kind = p_.options.targets[facts::number_of_output(g_, n)];
    if (kind == target_kind::classes) return 1;
    return out.height * out.width * (kind == target_kind::values ? out.channels : 1);
  }

  constexpr bool forward(step const& s, node const& x) {
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
  /// Whether the step of node n may also compute `next`. No other node may read the value between the two.
  constexpr bool fuses(int n, int next, op kind) {
    bool const allowed = is_node(next) && g_.nodes[next].kind == kind &&
                         (kind != op::activation || g_.nodes[next].function == function::relu) &&
                         facts_.only_reader(g_.nodes[n].output, next);
    return (allowed && once(now_->nodes[next].forward, next)) || breaks(plan_rule::fused_values_have_one_reader, next);
  }
  /// Checks a forward step that computes its value a second time.
  constexpr bool forward_again(step const& s, node const& x) {
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
  constexpr bool parameters(node const& x) {
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
  constexpr bool keep(int n, node const& x) {
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

  constexpr bool copy_forward(step const& s, node const& x) {
    if (x.kind != op::concat || !is_edge(s, x) || activations_[micro_].shared[x.first_input + s.edge])
      return breaks(plan_rule::steps_fit_their_node, s.node);
    copies& d = now_->copied[x.first_input + s.edge];
    if (s.again && (!d.forward || d.again)) return breaks(plan_rule::what_runs_again_repeats_the_first_time, s.node);
    return once(s.again ? d.again : d.forward, s.node) && memory_.read_activation(g_.input(x, s.edge)) &&
           memory_.write_activation(x.output, slice_of(s, x)) && comes_before_its_blocks_rest(s, x);
  }
  /// Checks the order of copies: executors that compute in whole blocks also write the rest of a tensor's last block.
  constexpr bool comes_before_its_blocks_rest(step const& s, node const& x) {
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

  constexpr bool compute_loss(step const& s) {
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
};

}  // namespace dsl::detail::checking
