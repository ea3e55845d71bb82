// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/storage.hpp>

namespace dsl::detail {

/// Writes the steps of a plan: the forward pass in the graph's order, the backward pass derived from it in reverse.
/// With micro-batches all forward passes precede all backward passes, so that a device works on one micro-batch while
/// the next device works on the one before (GPipe; Huang et al. 2019). Branches of a concat that end in a batch_norm
/// normalise together, as one group.
class emitter {
 public:
  constexpr emitter(graph_view const& g, analysis const& a, plan& p) : g_(g), a_(a), p_(p) {
    int const micros = p.micro_batches;
    kept_ = list<int>(micros * g.size.nodes, -1);
    contributions_ = list<int>(micros * g.size.tensors);
    whole_ = list<bool>(g.size.parameters);
    if (p.again.size() > 0) {
      steps_ = list<int>(micros * g.size.nodes);
      copies_ = list<int>(micros * g.size.edges);
      computed_again_ = list<bool>(micros * g.size.tensors);
    }
    find_what_to_reduce();
    p.steps.reserve(micros * (2 * g.size.nodes + 8));
    p.operands.reserve(micros * (7 * g.size.nodes + 16));
  }

  constexpr void run() {
    for (micro_ = 0; micro_ < p_.micro_batches; ++micro_) {
      load();
      for (int n = 1; n < g_.size.nodes; ++n)
        if (a_.owner[n] == n && group_of(n) < 0 && !comes_with_concat(n)) forward(n);
      if (p_.options.mode == mode::inference) continue;
      for (int k = 0; k < metrics_.size(); ++k) compute_loss(k);
    }
    if (p_.options.mode != mode::training) return;
    goes_back_ = true;
    for (micro_ = 0; micro_ < p_.micro_batches; ++micro_) backward();
    --micro_;
    int const first = p_.buffers.size();
    int const measured = p_.options.gradient_norm ? g_.size.devices : 0;
    for (int d = 0; d < measured; ++d) {
      begin_on(d, action::measure);
      int const at = add_buffer(p_, region::activations, {1, 1, 1}, 1, 1, 8, d);
      p_.operands.push({content::squares, access::write, d, at});
      end();
    }
    for (int d = 0; d < g_.size.devices; ++d) {
      begin_on(d, action::update);
      for (int from = 0; from < measured; ++from)
        p_.operands.push({content::squares, access::read, from, first + from});
      end();
    }
  }

 private:
  constexpr void begin(step s) {
    s.first_operand = p_.operands.size();
    s.micro = micro_;
    current_ = s;
  }
  constexpr void begin_on(int device, action what) { begin({.what = what, .device = device}); }
  constexpr void end() {
    current_.operands = p_.operands.size() - current_.first_operand;
    p_.steps.push(current_);
  }
  constexpr void begin(action what, int n, int group = -1) {
    begin({.what = what,
           .kind = g_.nodes[n].kind,
           .node = n,
           .batch_norm = a_.batch_norm_of[n],
           .activation = a_.activation_of[n],
           .group = group,
           .device = g_.nodes[n].device});
  }
  constexpr void put(content what, access how, int tensor) {
    int const i = micro_ * g_.size.tensors + tensor;
    placement const& at = (what == content::activation ? p_.activations : p_.gradients)[i];
    bool const kept = what != content::activation || !goes_back_;
    p_.operands.push({what, how, tensor, kept ? at.buffer : p_.in_backward_pass(at.buffer), at.channel});
  }
  constexpr void put_parameter(int k, access how) {
    p_.operands.push({content::parameter, how, k, p_.parameter_buffers[k]});
  }
  /// Appends an operand for the gradient of a parameter. The first micro-batch writes it to the place of the sum; later
  /// micro-batches write it to a temporary buffer, which is then added to the sum.
  constexpr void put_parameter_gradient(int k) {
    int at = p_.parameter_gradient_buffers[k];
    if (micro_ > 0) {
      buffer const& sum = p_.buffers[at];
      at = add_buffer(p_, region::activations, sum.shape, 1, 1, sum.element_bytes, sum.device);
    }
    p_.operands.push({content::parameter_gradient, access::write, k, at});
    whole_[k] = micro_ == p_.micro_batches - 1;
  }
  /// Appends a step that adds all parameter gradients that the steps from number `first` on have written.
  constexpr void add_gradients(int first) {
    for (int s = first, behind = p_.steps.size(); s < behind; ++s)
      for (int i = p_.steps[s].first_operand, last = i + p_.steps[s].operands; i < last; ++i) {
        operand o = p_.operands[i];
        if (o.what != content::parameter_gradient) continue;
        begin(action::add_gradients, p_.steps[s].node);
        o.how = access::read;
        p_.operands.push(o);
        p_.operands.push({o.what, access::accumulate, o.index, p_.parameter_gradient_buffers[o.index]});
        end();
      }
  }
  /// Appends an operand for the gradient of a tensor. The first step that contributes to the gradient writes it; later
  /// steps add to it.
  constexpr void put_contribution(int tensor) {
    int& count = contributions_[micro_ * g_.size.tensors + root_of(a_, tensor).buffer];
    put(content::gradient, count++ == 0 ? access::write : access::accumulate, tensor);
  }

  /// Returns the tensor that a node's step writes, which is the output of the last operation fused with it.
  constexpr int result_of(int n) const {
    if (a_.activation_of[n] >= 0) return g_.nodes[a_.activation_of[n]].output;
    if (a_.batch_norm_of[n] >= 0) return g_.nodes[a_.batch_norm_of[n]].output;
    return g_.nodes[n].output;
  }
  /// If a batch_norm's step must wait for the other branches of a concat, so that they can share a kernel launch,
  /// returns the concat; otherwise returns -1.
  constexpr int group_of(int n) const {
    node const& x = g_.nodes[n];
    if (x.kind != op::batch_norm || x.frozen || p_.options.mode != mode::training) return -1;
    if (a_.readers[g_.input(g_.nodes[n])] != 1) return -1;  // two would add to one gradient at once
    int const parent = a_.parent[result_of(n)];
    return parent < 0 ? -1 : g_.tensors[parent].producer;
  }
  /// Whether a node is a transfer whose output only a concat reads. Its step comes after all steps for branches that
  /// the concat's device computes itself.
  constexpr bool comes_with_concat(int n) const {
    int const out = g_.nodes[n].output;
    return g_.nodes[n].kind == op::transfer && a_.readers[out] == 1 && g_.nodes[a_.reader[out]].kind == op::concat;
  }
  constexpr bool joins_group(int edge_tensor, int concat) const {
    int const owner = a_.owner[g_.tensors[edge_tensor].producer];
    return group_of(owner) == concat && result_of(owner) == edge_tensor;
  }

  /// Emits the steps that load the images, on the device where the network begins, and the labels, on the device where
  /// it ends. If both are the same device, this is one step. Then emits a step for each further input.
  constexpr void load() {
    int const last = g_.nodes[g_.size.nodes - 1].device;
    begin_on(g_.nodes[0].device, action::load);
    put(content::activation, access::write, g_.nodes[0].output);
    if (p_.options.mode != mode::inference) {
      if (last != g_.nodes[0].device) {
        end();
        begin_on(last, action::load);
      }
      labels_ = add_buffer(p_, region::activations, shape_of_targets(), 1, samples(), 4, last);
      p_.operands.push({content::labels, access::write, 0, labels_});
      if (micro_ == 0) {
        p_.labels = labels_;
        for (int k = output_count(g_); k > 0; --k)
          metrics_.push(add_buffer(p_, region::activations, {2, 1, 1}, 1, 1, 8, last));
        p_.metrics = metrics_[0];
      }
    }
    end();
    for (int n = 1; n < g_.size.nodes; ++n) {
      if (!is_further_input(g_, n)) continue;
      begin({.what = action::load, .node = n, .device = g_.nodes[n].device});
      put(content::activation, access::write, g_.nodes[n].output);
      end();
    }
  }
  constexpr shape shape_of_targets() const {
    shape const& result = g_.shape_of(g_.result());
    if (!p_.options.targets.is_shared()) return {targets_before(g_, p_.options.targets, output_count(g_)), 1, 1};
    switch (p_.options.targets[0]) {
      case target_kind::values: return result;
      case target_kind::pixel_classes: return {1, result.height, result.width};
      case target_kind::classes: break;
    }
    return {1, 1, 1};
  }
  /// Returns the number of samples in the current micro-batch.
  constexpr int samples() const { return micro_batch(p_.options.batch, p_.micro_batches, micro_).size; }

  constexpr void forward(int n) {
    node const& x = g_.nodes[n];
    if (x.kind == op::concat) {
      for (int i = 0; i < x.inputs; ++i)
        if (joins_group(g_.input(x, i), n)) forward_step(a_.owner[g_.tensors[g_.input(x, i)].producer], n);
      for (int i = 0; i < x.inputs; ++i)
        if (int const from = g_.tensors[g_.input(x, i)].producer; comes_with_concat(from)) forward_step(from, -1);
      for (int i = 0; i < x.inputs; ++i)  // in this order, since a copy zeroes the rest of its last block
        if (a_.parent[g_.input(x, i)] != x.output) copy(action::copy_forward, n, i);
      return;
    }
    if (x.kind == op::input || renames_input(g_, p_.options, x)) return;
    forward_step(n, -1);
  }

  constexpr void forward_step(int n, int group) {
    node const& x = g_.nodes[n];
    bool const training = p_.options.mode == mode::training;
    if (steps_.size() > 0) steps_[micro_ * g_.size.nodes + n] = p_.steps.size();
    begin(action::forward, n, group);
    for (int i = 0; i < x.inputs; ++i) put(content::activation, access::read, g_.input(x, i));
    for (int i = 0; i < x.parameters; ++i) {
      int const k = x.first_parameter + i;
      if (g_.parameters[k].role == role::bias && a_.bias_skipped[n]) continue;
      bool const moves = training && !x.frozen && g_.parameters[k].is_statistic();
      put_parameter(k, moves ? access::accumulate : access::read);
    }
    if (int const bn = a_.batch_norm_of[n]; bn >= 0)
      for (int i = 0; i < g_.nodes[bn].parameters; ++i) put_parameter(g_.nodes[bn].first_parameter + i, access::read);
    if (!training || !a_.needs_gradient[x.output]) {
      put(content::activation, access::write, result_of(n));
      return end();
    }
    switch (facts_of(x).kept) {
      case operations::kept::nothing: break;
      case operations::kept::statistics: keep_statistics(n); break;
      case operations::kept::argmax: keep_argmax(n); break;
      case operations::kept::states: keep_states(n); break;
    }
    put(content::activation, access::write, result_of(n));
    end();
  }
  constexpr void keep_statistics(int n) {
    node const& x = g_.nodes[n];
    int const before = g_.tensors[g_.input(x)].producer;  // its skipped bias still shifts the running mean
    if (a_.bias_skipped[before]) put_parameter(g_.nodes[before].first_parameter + 1, access::read);
    int const b = p_.activations[micro_ * g_.size.tensors + result_of(n)].buffer;
    int const rows = p_.in_backward_pass(b) == b ? 2 : 4;
    kept(n) = add_buffer(p_, region::activations, {rows * g_.output_shape(x).channels, 1, 1}, 1, 1,
                         p_.options.target.state_bytes, x.device);
    p_.operands.push({content::statistics, access::write, n, kept(n)});
  }
  constexpr void keep_argmax(int n) {
    node const& x = g_.nodes[n];
    int const index_bytes = x.window.height * x.window.width <= 256 ? 1 : 2;
    kept(n) = add_buffer(p_, region::activations, g_.output_shape(x), block_of(g_, x.output, p_.options.target),
                         samples(), index_bytes, x.device);
    p_.operands.push({content::argmax, access::write, n, kept(n)});
  }

  constexpr void keep_states(int n) {
    node const& x = g_.nodes[n];
    int const numbers = operations::saved_numbers * g_.output_shape(x).channels;
    kept(n) = add_buffer(p_, region::activations, {numbers, 1, g_.input_shape(x).width}, 1, samples(),
                         p_.options.target.state_bytes, x.device);
    p_.operands.push({content::states, access::write, n, kept(n)});
  }

  constexpr void copy(action what, int n, int edge) {
    node const& x = g_.nodes[n];
    if (what == action::copy_forward && copies_.size() > 0)
      copies_[micro_ * g_.size.edges + x.first_input + edge] = p_.steps.size();
    begin({.what = what, .kind = x.kind, .node = n, .edge = edge, .device = x.device});
    int const in = g_.input(x, edge);
    if (what == action::copy_forward) {
      put(content::activation, access::read, in);
      put_slice(content::activation, access::write, x, edge);
    } else {
      put_slice(content::gradient, access::read, x, edge);
      put_contribution(in);
    }
    end();
  }
  /// Appends an operand for those channels of a concat's output that belong to one input, or for the whole output of an
  /// add.
  constexpr void put_slice(content what, access how, node const& x, int edge) {
    put(what, how, x.output);
    if (x.kind == op::concat)
      for (int i = 0; i < edge; ++i) p_.operands[p_.operands.size() - 1].channel += g_.input_shape(x, i).channels;
  }

  constexpr bool loss_from_logits(int n) const {
    return is_output(g_, n) && is_of_logits(g_, p_.options.loss[output_number(g_, n)], n);
  }

  /// Emits the loss of output number k.
  constexpr void compute_loss(int k) {
    int const n = output_node(g_, k);
    node const& x = g_.nodes[n];
    begin({.what = action::loss, .node = n, .device = x.device});
    put(content::activation, access::read, x.output);
    p_.operands.push({content::labels, access::read, 0, labels_, targets_before(g_, p_.options.targets, k)});
    p_.operands.push({content::metrics, micro_ == 0 ? access::write : access::accumulate, k, metrics_[k]});
    if (p_.options.mode == mode::training) {
      int const to = loss_from_logits(n) ? g_.input(x) : x.output;
      if (a_.needs_gradient[to]) put_contribution(to);
    }
    end();
  }

  /// Emits the steps that compute a tensor a second time, if it was not stored and these steps have not been emitted
  /// yet. In the buffer of a concat, they fill only the slices that are needed: the input of another branch may already
  /// be overwritten by its gradient.
  constexpr void compute_again(int tensor) {
    int const t = micro_ * g_.size.tensors + tensor;
    int const b = p_.activations[t].buffer;
    if (p_.in_backward_pass(b) == b || computed_again_[t]) return;
    computed_again_[t] = true;
    int const producer = g_.tensors[tensor].producer;
    node const& x = g_.nodes[producer];
    bool const renames = renames_input(g_, p_.options, x);
    if (x.kind != op::concat && !renames) {
      compute_inputs_again(a_.owner[producer]);
      return repeat(steps_[micro_ * g_.size.nodes + a_.owner[producer]]);
    }
    for (int i = 0; i < x.inputs && !renames; ++i)  // first, so that nothing comes between steps of a group
      if (int const from = a_.owner[g_.tensors[g_.input(x, i)].producer]; a_.parent[g_.input(x, i)] == x.output)
        if (g_.nodes[from].kind != op::concat) compute_inputs_again(from);
    for (int i = 0; i < x.inputs; ++i) compute_again(g_.input(x, i));
    for (int i = 0; i < x.inputs && !renames; ++i)
      if (a_.parent[g_.input(x, i)] != x.output) repeat(copies_[micro_ * g_.size.edges + x.first_input + i]);
  }
  constexpr void compute_inputs_again(int n) {
    for (int i = 0; i < g_.nodes[n].inputs; ++i) compute_again(g_.input(g_.nodes[n], i));
  }
  /// Emits a forward step a second time. This step does not change running statistics, and a batch_norm reads the mean
  /// and variance that its first step saved.
  constexpr void repeat(int s) {
    step const first = p_.steps[s];
    begin(first);
    current_.again = true;
    for (int i = first.first_operand; i < first.first_operand + first.operands; ++i) {
      operand o = p_.operands[i];
      bool const shifts_mean =
          first.kind == op::batch_norm && o.what == content::parameter && g_.parameters[o.index].role == role::bias;
      if (o.how == access::accumulate || o.what == content::argmax || o.what == content::states || shifts_mean)
        continue;
      if (o.what == content::activation) o.buffer = p_.in_backward_pass(o.buffer);
      if (o.what == content::statistics) o.how = access::read;
      p_.operands.push(o);
    }
    end();
  }
  /// Emits the steps that compute, a second time, those operands of a node's backward step that were not stored.
  constexpr void compute_operands_again(int n, int edge = 0) {
    node const& x = g_.nodes[n];
    operations::row const& row = facts_of(x);
    for (int i = 0; i < x.inputs && i < 2 && p_.again.size() > 0; ++i)
      if (contains(row.reads[edge], operations::input_number(i))) compute_again(g_.input(x, i));
    if (contains(row.reads[edge], operations::values::output)) compute_again(x.output);
  }

  /// Emits the backward pass of one micro-batch.
  constexpr void backward() {
    for (int n = g_.size.nodes - 1; n > 0; --n) {
      for (int i = 0; i < waiting_.size(); ++i)  // this node makes its input, whose gradient must be complete now
        if (a_.owner[g_.tensors[g_.input(g_.nodes[waiting_[i]])].producer] == n) {
          backward_step(waiting_[i]);
          waiting_.erase(i--);
        }
      int const steps = p_.steps.size();
      if (a_.owner[n] == n && group_of(n) < 0) backward(n);
      if (micro_ > 0) add_gradients(steps);
      all_reduce_what_is_whole();
    }
    for (int n : waiting_) backward_step(n);
    waiting_.clear();
    all_reduce_what_is_whole();
  }
  constexpr void backward(int n) {
    node const& x = g_.nodes[n];
    if (!a_.needs_gradient[x.output]) return;
    if (renames_input(g_, p_.options, x) || loss_from_logits(n)) return;
    operations::row const& row = facts_of(x);
    switch (row.gradients) {
      case operations::gradient_steps::none: return;
      case operations::gradient_steps::copies:
        for (int i = 0; i < x.inputs; ++i) {
          int const in = g_.input(x, i);
          if (a_.needs_gradient[in] && (x.kind != op::concat || a_.parent[in] != x.output))
            copy(action::copy_backward, n, i);
        }
        for (int i = x.inputs - 1; i >= 0 && p_.again.size() > 0; --i)  // nothing may come between steps of a group
          if (joins_group(g_.input(x, i), n)) compute_operands_again(a_.owner[g_.tensors[g_.input(x, i)].producer]);
        for (int i = x.inputs - 1; i >= 0; --i)
          if (joins_group(g_.input(x, i), n)) backward_step(a_.owner[g_.tensors[g_.input(x, i)].producer], 0, n);
        return;
      case operations::gradient_steps::weights_and_data:
        if (!x.frozen) backward_weights(n);
        if (!a_.needs_gradient[g_.input(x)]) return;
        begin(action::backward_data, n);
        put(content::gradient, access::read, x.output);
        put_parameter(x.first_parameter, access::read);
        put_contribution(g_.input(x));
        end();
        return;
      case operations::gradient_steps::one_an_input:
        // Accumulating is free for a pool and expensive for a library's convolution, so convolutions write first. A
        // transfer waits, too: until its gradient arrives, the device has other branches to work on.
        if ((row.output == operations::makes::pooled || x.kind == op::transfer) && a_.readers[g_.input(x)] > 1) {
          waiting_.push(n);
          return;
        }
        for (int i = x.inputs - 1; i >= 0; --i)
          if (a_.needs_gradient[g_.input(x, i)] || (i == 0 && has_trainable_parameters(g_, x))) backward_step(n, i);
    }
  }
  constexpr void backward_weights(int n) {
    node const& x = g_.nodes[n];
    compute_operands_again(n);
    begin(action::backward_weights, n);
    put(content::activation, access::read, g_.input(x));
    put(content::gradient, access::read, x.output);
    put_parameter_gradient(x.first_parameter);
    if (x.parameters > 1 && !a_.bias_skipped[n]) put_parameter_gradient(x.first_parameter + 1);
    end();
  }

  /// Emits the step that computes the gradient of one input. The step for the first input also computes the gradients
  /// of the parameters.
  constexpr void backward_step(int n, int edge = 0, int group = -1) {
    node const& x = g_.nodes[n];
    operations::row const& row = facts_of(x);
    int const in = g_.input(x, edge);
    compute_operands_again(n, edge);
    begin(action::backward, n, group);
    current_.edge = edge;
    if (x.kind == op::transfer) current_.device = g_.nodes[g_.tensors[in].producer].device;  // the reader fetches it
    for (int i = 0; i < x.inputs && i < 2; ++i)
      if (contains(row.reads[edge], operations::input_number(i)))
        put(content::activation, access::read, g_.input(x, i));
    if (contains(row.reads[edge], operations::values::output)) put(content::activation, access::read, x.output);
    if (row.kept == operations::kept::statistics) p_.operands.push({content::statistics, access::read, n, kept(n)});
    if (row.kept == operations::kept::argmax) p_.operands.push({content::argmax, access::read, n, kept(n)});
    if (row.kept == operations::kept::states) p_.operands.push({content::states, access::read, n, kept(n)});
    for (int i = 0; i < x.parameters; ++i) {
      bool const masks_relu = g_.parameters[x.first_parameter + i].role == role::beta && a_.activation_of[n] >= 0;
      if ((row.parameters_read >> i & 1) != 0 || masks_relu) put_parameter(x.first_parameter + i, access::read);
    }
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters && edge == 0; ++k)
      if (g_.parameters[k].trainable()) put_parameter_gradient(k);
    put(content::gradient, access::read, result_of(n));
    if (a_.needs_gradient[in]) put_contribution(in);
    end();
  }

  /// Returns the buffer that a forward step saves for the backward step: statistics, argmax or states.
  constexpr int& kept(int n) { return kept_[micro_ * g_.size.nodes + n]; }

  /// Collects the parameters whose gradients are summed over all towers, in memory order.
  constexpr void find_what_to_reduce() {
    if (p_.options.all_reduce_buckets < 1 || p_.options.mode != mode::training) return;
    for (int d = g_.size.devices - 1; d >= 0; --d)
      for (int n = g_.size.nodes - 1; n >= 0; --n)
        for (int k = g_.nodes[n].first_parameter; k < g_.nodes[n].first_parameter + g_.nodes[n].parameters; ++k) {
          if (g_.nodes[n].device != d) continue;
          if (g_.parameters[k].trainable()) to_reduce_.push(k);
          whole_[k] = a_.bias_skipped[n] && g_.parameters[k].role == role::bias;  // it stays zero
        }
  }
  /// Emits an all_reduce for each bucket of gradients that is complete. In memory, gradients are in the order in which
  /// the backward pass completes them, so a bucket is contiguous. Buckets have about equal size, and each belongs to
  /// one device.
  constexpr void all_reduce_what_is_whole() {
    long long const all = p_.region_bytes[static_cast<int>(region::gradients)];
    auto const bucket_at = [&](long long offset) { return offset * p_.options.all_reduce_buckets / all; };
    while (found_whole_ < to_reduce_.size() && whole_[to_reduce_[found_whole_]]) {
      buffer const& b = gradient_of(found_whole_++);
      bool const more = found_whole_ < to_reduce_.size() && gradient_of(found_whole_).device == b.device;
      if (more && bucket_at(b.offset) == bucket_at(b.offset + b.bytes)) continue;
      begin_on(b.device, action::all_reduce);
      for (; reduced_ < found_whole_; ++reduced_) {
        int const k = to_reduce_[reduced_];
        p_.operands.push({content::parameter_gradient, access::accumulate, k, p_.parameter_gradient_buffers[k]});
      }
      end();
    }
  }
  constexpr buffer const& gradient_of(int i) const { return p_.buffers[p_.parameter_gradient_buffers[to_reduce_[i]]]; }

  graph_view const& g_;
  analysis const& a_;
  plan& p_;
  step current_{};
  int micro_ = 0;
  list<int> kept_;             // per micro-batch and node: buffers
  int labels_ = -1;            // buffer
  list<int> metrics_;          // per output: buffers
  list<int> contributions_;    // per micro-batch and root tensor: gradient contributions so far
  list<int> waiting_;          // pools and transfers whose backward step is delayed as long as possible
  list<int> to_reduce_;        // parameters
  list<bool> whole_;           // per parameter: whether its gradient is complete
  list<int> steps_;            // per micro-batch and node: its forward step; empty if nothing is computed again
  list<int> copies_;           // per micro-batch and edge: its forward copy
  list<bool> computed_again_;  // per micro-batch and tensor
  bool goes_back_ = false;     // whether the backward pass has begun
  int found_whole_ = 0;        // number of complete ones at the front of to_reduce_
  int reduced_ = 0;
};

}  // namespace dsl::detail
