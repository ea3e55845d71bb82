// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/forward_steps.hpp>

namespace dsl::detail::checking {

/// Checks the steps of the backward pass, and those that sum, measure and use the gradients of parameters.
class backward_steps : public forward_steps {
 protected:
  using forward_steps::forward_steps;

  constexpr bool backward(step const& s, node const& x) {
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
  constexpr bool backward_of_input(step const& s, node const& x, operations::row const& row) {
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
  constexpr bool copy_backward(step const& s, node const& x) {
    if (facts_of(x).gradients != operations::gradient_steps::copies || !is_edge(s, x) ||
        gradients_[micro_].shared[x.first_input + s.edge])
      return breaks(plan_rule::steps_fit_their_node, s.node);
    int const in = g_.input(x, s.edge);
    if (!facts_.needs_gradient[in]) return breaks(plan_rule::steps_fit_their_node, s.node);
    return once(now_->copied[x.first_input + s.edge].backward, s.node) &&
           memory_.read_gradient(x.output, slice_of(s, x)) && memory_.contribute(in);
  }
  /// Checks the gradients of a node's trainable parameters, except that of a bias that the batch's mean cancels.
  constexpr bool parameter_gradients(node const& x) {
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

  constexpr bool add_gradients(step const& s, node const& x) {
    int const k = s.operands > 0 ? p_.operands[s.first_operand].index : -1;
    bool const own = k >= x.first_parameter && k < x.first_parameter + x.parameters;
    if (!facts_.training || !own) return breaks(plan_rule::steps_fit_their_node, s.node);
    summation& sum = parameters_[k];
    if (sum.summed != micro_ || sum.written != micro_ + 1) return breaks(plan_rule::micro_batches_come_in_order, k);
    ++sum.summed;
    return memory_.read_other(content::parameter_gradient, k, sum.beside) &&
           memory_.parameter_gradient(k, access::accumulate);
  }

  /// Checks an all_reduce. Executors sum from the first operand's beginning to the last one's end.
  constexpr bool all_reduce(step const& s) {
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

  /// Checks a step that measures the gradient norm: every gradient must be complete. Other checks ensure that none
  /// changes afterwards.
  constexpr bool measure(step const& s) {
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

  /// Checks an update. check() makes sure that no further step of the same device follows.
  constexpr bool update(step const& s) {
    if (!facts_.training) return breaks(plan_rule::parameters_are_updated_once_after_their_gradients);
    for (int d = 0; p_.options.gradient_norm && d < g_.size.devices; ++d) {
      if (measured_[d] < 0) return breaks(plan_rule::gradients_are_measured_when_they_are_whole);
      if (!memory_.read_other(content::squares, d, measured_[d])) return false;
    }
    return updated_[s.device] = true;
  }
};

}  // namespace dsl::detail::checking
