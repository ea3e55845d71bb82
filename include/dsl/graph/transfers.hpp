// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl::detail {

/// Puts an op::transfer wherever a value goes from one device to another: one for each tensor and device that reads it,
/// in front of the first node that does. After this, only transfers read what another device has made, and everything
/// that plans and executors know of nodes holds for them too.
class transfer_pass {
 public:
  /// Calls keep(node, inputs) for every node of the new graph, in order; `inputs` are its tensors there. A tensor's
  /// number is that of the node that makes it.
  template <class Keep>
  constexpr void run(graph_view const& g, Keep keep) {
    int const devices = g.size.devices;
    list<int> moved(g.size.tensors * devices, -1);  // per tensor and device: the tensor there
    list<int> device(g.size.tensors);
    list<int> inputs;
    int made = 0;
    short const first = device_of_pictures(g);
    for (int n = 0; n < g.size.nodes; ++n) {
      node x = g.nodes[n];
      if (x.kind == op::input) x.device = first;
      inputs.clear();
      for (int i = 0; i < x.inputs; ++i) {
        int const t = g.input(x, i);
        int& there = moved[t * devices + x.device];
        if (there < 0) {
          list<int> from;
          from.push(moved[t * devices + device[t]]);
          keep({.kind = op::transfer, .device = x.device, .first_parameter = x.first_parameter, .scope = x.scope}, from,
               g.shape_of(t));
          there = made++;
        }
        inputs.push(there);
      }
      keep(x, inputs, g.output_shape(x));
      device[x.output] = x.device;
      moved[x.output * devices + x.device] = made++;
    }
  }

 private:
  /// A picture arrives where it is read first.
  static constexpr short device_of_pictures(graph_view const& g) {
    for (int n = 1; n < g.size.nodes; ++n)
      for (int i = 0; i < g.nodes[n].inputs; ++i)
        if (g.input(g.nodes[n], i) == g.nodes[0].output) return g.nodes[n].device;
    return 0;
  }
};

/// How large the graph will be.
constexpr graph_sizes sizes_with_transfers(graph_view const& g) {
  graph_sizes s = g.size;
  s.nodes = s.edges = s.tensors = 0;
  transfer_pass().run(g, [&](node const&, list<int> const& inputs, shape const&) {
    ++s.nodes, ++s.tensors;
    s.edges += inputs.size();
  });
  return s;
}

/// Into arrays of those sizes. Scopes stay as they are.
constexpr void insert_transfers(graph_view const& g, node* nodes, int* edges, tensor* tensors, parameter* parameters) {
  int made = 0;
  int edge = 0;
  transfer_pass().run(g, [&](node x, list<int> const& inputs, shape const& out) {
    x.first_input = edge;
    x.inputs = inputs.size();
    x.output = made;
    for (int t : inputs) {
      edges[edge++] = t;
      ++tensors[t].readers;
    }
    tensors[made] = {out, made};
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
      parameters[k] = g.parameters[k];
      parameters[k].node = made;
    }
    nodes[made++] = x;
  });
}

}  // namespace dsl::detail
