// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/analysis.hpp>

namespace dsl::detail {

constexpr int add_buffer(plan& p, region where, shape const& s, int block, long long samples, int element_bytes,
                         int device) {
  buffer b{.where = where, .shape = s, .block = block, .element_bytes = element_bytes, .device = device};
  b.bytes = round_up(samples * round_up(s.channels, block) * s.area() * element_bytes, p.options.target.alignment);
  return p.buffers.push(b);
}

/// Gives parameters their places in memory. In each region they are in reverse topological order. This is the order in
/// which the backward pass completes their gradients, so that the first gradients can be summed over towers while the
/// others are still being computed. Gradients and optimizer slots have the same offsets as their parameters, so that
/// one loop can update all parameters of a device.
constexpr void place_parameters(graph_view const& g, plan& p) {
  p.parameter_buffers = list<int>(g.size.parameters, -1);
  p.parameter_gradient_buffers = list<int>(g.size.parameters, -1);
  bool const training = p.options.mode == mode::training;
  int const bytes = p.options.target.state_bytes;
  auto const place = [&](region where, long long count, int device) {
    int const number = add_buffer(p, where, {static_cast<int>(count), 1, 1}, 1, 1, bytes, device);
    buffer& b = p.buffers[number];
    long long& end = p.region_bytes[static_cast<int>(where)];
    b.offset = end;
    end += b.bytes;
    p.devices[device].bytes[static_cast<int>(where)] += b.bytes;
    return number;
  };
  p.devices = list<device_bytes>(g.size.devices);
  for (int d = g.size.devices - 1; d >= 0; --d)
    for (int n = g.size.nodes - 1; n >= 0; --n) {
      if (g.nodes[n].device != d) continue;
      for (int i = 0; i < g.nodes[n].parameters; ++i) {
        int const k = g.nodes[n].first_parameter + i;
        parameter const& x = g.parameters[k];
        region const kept = x.frozen ? region::frozen : x.trainable() ? region::parameters : region::statistics;
        p.parameter_buffers[k] = place(kept, x.count(), d);
        if (training && x.trainable()) p.parameter_gradient_buffers[k] = place(region::gradients, x.count(), d);
      }
    }
  if (!training) return;
  constexpr int parameters = static_cast<int>(region::parameters), slots = static_cast<int>(region::slots);
  p.region_bytes[slots] = p.options.optimizer_slots * p.region_bytes[parameters];
  for (device_bytes& d : p.devices) d.bytes[slots] = p.options.optimizer_slots * d.bytes[parameters];
}

/// Whether an operation overwrites its input. The operation must be elementwise. No other step may read the input
/// afterwards, and the input must not be a slice, the network's input, or a tensor that is read by the backward step of
/// the node that computes it.
constexpr bool overwrites_input(graph_view const& g, plan const& p, analysis const& a, node const& x) {
  if (!facts_of(x).forward_in_place) return false;
  if (a.parent[x.output] >= 0) return false;
  int const in = g.input(x);
  node const& producer = g.nodes[g.tensors[in].producer];
  if (a.parent[in] >= 0 || a.readers[in] != 1 || source_of(g, in).kind == op::input) return false;
  if (p.options.mode != mode::training) return true;
  return !backward_reads(x, operations::values::first_input) && !backward_reads_output(producer);
}

/// Adds a buffer for one tensor, or for its gradient, in micro-batch m. The buffer is on the device that computes the
/// tensor.
constexpr int add_tensor(graph_view const& g, plan& p, int tensor, int m) {
  target const& to = p.options.target;
  return add_buffer(p, region::activations, g.shape_of(tensor), block_of(g, tensor, to),
                    micro_batch(p.options.batch, p.micro_batches, m).size, to.element_bytes,
                    g.nodes[g.tensors[tensor].producer].device);
}

/// Adds a buffer for every tensor that is not stored in the buffer of another tensor.
constexpr void place_activations(graph_view const& g, analysis const& a, plan& p, int m) {
  placement* const at = p.activations.begin() + m * g.size.tensors;
  for (int n = 0; n < g.size.nodes; ++n) {
    int const t = g.nodes[n].output;
    bool const inside_a_fused_step = a.readers[t] == 1 && a.reader[t] >= 0 && a.owner[a.reader[t]] == a.owner[n] &&
                                     a.owner[a.reader[t]] != a.reader[t];
    if (a.parent[t] >= 0 || inside_a_fused_step) continue;
    if (a.owner[n] == n && overwrites_input(g, p, a, g.nodes[n]))
      at[t] = at[g.input(g.nodes[n])];
    else
      at[t].buffer = add_tensor(g, p, t, m);
  }
  for (int t = 0; t < g.size.tensors; ++t)
    if (a.parent[t] >= 0) {
      placement const root = root_of(a, t);
      at[t] = {at[root.buffer].buffer, root.channel};
    }
}

/// Adds buffers for gradients. Tensors that share a buffer also share the buffer of their gradients. Where it is safe,
/// a gradient overwrites other values: the gradient of a batch_norm's input overwrites this input, which is not read
/// again, and the gradient of an elementwise operation's input overwrites the gradient of its output.
constexpr void place_gradients(graph_view const& g, analysis const& a, plan& p, int m) {
  placement* const at = p.gradients.begin() + m * g.size.tensors;
  if (p.options.mode != mode::training) return;
  for (int t = g.size.tensors - 1; t >= 0; --t) {
    if (!a.needs_gradient[t] || a.parent[t] >= 0) continue;
    int const producer = g.tensors[t].producer;
    if (a.owner[producer] == producer && a.activation_of[producer] >= 0) continue;  // exists only inside a fused step
    int const reader = a.readers[t] == 1 ? a.reader[t] : -1;
    if (reader >= 0 && facts_of(g.nodes[reader]).gradient_over_input && !backward_reads_output(g.nodes[producer]) &&
        g.nodes[producer].kind != op::input) {
      at[t] = p.activations[m * g.size.tensors + t];
      at[t].buffer = p.in_backward_pass(at[t].buffer);
      continue;
    }
    if (reader >= 0 && facts_of(g.nodes[reader]).gradient_in_place) {
      int const out = g.nodes[reader].output;
      if (a.parent[out] < 0 && at[out].buffer >= 0) {
        at[t] = at[out];
        continue;
      }
    }
    at[t].buffer = add_tensor(g, p, t, m);
  }
  for (int t = 0; t < g.size.tensors; ++t)
    if (a.needs_gradient[t] && a.parent[t] >= 0) {
      placement const root = root_of(a, t);
      at[t] = {at[root.buffer].buffer, root.channel};
    }
}

}  // namespace dsl::detail
