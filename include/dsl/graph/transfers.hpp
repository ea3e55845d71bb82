// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl::detail {

/// Inserts an op::transfer for each tensor and each other device that reads the tensor. The transfer comes before the
/// first node on that device that reads the tensor. Afterwards, only transfers read tensors of another device. For
/// passes and executors, transfers are nodes like any other.
class transfer_pass {
 public:
  /// Calls keep(node, inputs, shape) for every node of the new graph in order. `inputs` are tensors of the new graph;
  /// each has the number of the node that makes it.
  template <class Keep>
  constexpr void run(graph_view const& g, Keep keep) {
    int const devices = g.size.devices;
    list<int> moved(g.size.tensors * devices, -1);  // [tensor * devices + device]: the tensor's copy there
    list<int> device(g.size.tensors);
    list<int> inputs;
    int made = 0;
    for (int n = 0; n < g.size.nodes; ++n) {
      node x = g.nodes[n];
      if (x.kind == op::input) x.device = device_of_input(g, x.output);
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
  /// Returns the device that is the first to read an input. The input is loaded there.
  static constexpr short device_of_input(graph_view const& g, int tensor) {
    for (int n = 1; n < g.size.nodes; ++n)
      for (int i = 0; i < g.nodes[n].inputs; ++i)
        if (g.input(g.nodes[n], i) == tensor) return g.nodes[n].device;
    return 0;
  }
};

/// Returns the sizes of the graph with transfers.
constexpr graph_sizes sizes_with_transfers(graph_view const& g) {
  graph_sizes s = g.size;
  s.nodes = s.edges = s.tensors = 0;
  transfer_pass().run(g, [&](node const&, list<int> const& inputs, shape const&) {
    ++s.nodes, ++s.tensors;
    s.edges += inputs.size();
  });
  return s;
}

/// Writes the graph with transfers into arrays of the sizes that sizes_with_transfers() returns. Scopes do not change.
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
