// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/backward_steps.hpp>

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
class step_checker : public backward_steps {
 public:
  constexpr step_checker(graph_view const& g, plan const& p, layout const& l) : backward_steps(g, p, l) {}

  /// Checks the steps [first, end). If the last of them is the plan's last step, completes the check.
  constexpr plan_verdict run(int first, int end) {
    for (int s = first; s < end; ++s)
      if (!check(s)) return memory_.verdict();
    if (end == p_.steps.size() && !check_end()) return memory_.verdict();
    return {};
  }

 private:
  constexpr bool check(int index) {
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
  constexpr bool names_its_node(step const& s) {
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

  constexpr bool operands_of(step const& s) {
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

  /// Checks that no step is missing, and that the host finds what it reads after the run.
  constexpr bool check_end() {
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
};

}  // namespace dsl::detail::checking
