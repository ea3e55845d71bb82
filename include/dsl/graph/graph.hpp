// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>

namespace dsl {

/// How many of each a network has; found by lowering it once without storing anything.
struct graph_sizes {
  int nodes = 0;
  int edges = 0;
  int tensors = 0;
  int parameters = 0;
  int scopes = 0;
  int devices = 1;  // one more than the highest that a node is on
};

/// A network as values, in topological order: what every pass, plan and executor reads. Owns nothing.
struct graph_view {
  node const* nodes = nullptr;
  int const* edges = nullptr;
  tensor const* tensors = nullptr;
  parameter const* parameters = nullptr;
  scope const* scopes = nullptr;
  graph_sizes size{};

  constexpr int input(node const& n, int i = 0) const { return edges[n.first_input + i]; }
  constexpr shape const& shape_of(int tensor) const { return tensors[tensor].shape; }
  constexpr shape const& input_shape(node const& n, int i = 0) const { return tensors[input(n, i)].shape; }
  constexpr shape const& output_shape(node const& n) const { return tensors[n.output].shape; }
  /// The network's result: the output of its last node.
  constexpr int result() const { return nodes[size.nodes - 1].output; }
};

/// The arrays behind a graph_view, sized exactly.
template <graph_sizes Sizes>
struct graph {
  node nodes[Sizes.nodes > 0 ? Sizes.nodes : 1]{};
  int edges[Sizes.edges > 0 ? Sizes.edges : 1]{};
  tensor tensors[Sizes.tensors > 0 ? Sizes.tensors : 1]{};
  parameter parameters[Sizes.parameters > 0 ? Sizes.parameters : 1]{};
  scope scopes[Sizes.scopes > 0 ? Sizes.scopes : 1]{};

  constexpr graph_view view() const { return {nodes, edges, tensors, parameters, scopes, Sizes}; }
};

/// A node's number in the network as it was written, without the transfers that placement puts between. Dropout draws
/// by it, so that a placed network draws what it does on one device.
constexpr int number_of(graph_view const& g, int n) {
  int number = n;
  for (int i = 0; g.size.devices > 1 && i < n; ++i)
    if (node const& x = g.nodes[i];
        x.kind == op::transfer && x.device != g.nodes[g.tensors[g.input(x)].producer].device)
      --number;
  return number;
}

/// Multiply-adds of one node's forward pass for one sample; convolutions and dense layers only, as everyone counts.
constexpr long long forward_macs(graph_view const& g, node const& n) {
  if (n.kind != op::conv2d && n.kind != op::dense) return 0;
  return g.parameters[n.first_parameter].count() * g.output_shape(n).area();
}

constexpr long long forward_macs(graph_view const& g) {
  long long macs = 0;
  for (int i = 0; i < g.size.nodes; ++i) macs += forward_macs(g, g.nodes[i]);
  return macs;
}

constexpr long long parameter_count(graph_view const& g) {
  long long count = 0;
  for (int i = 0; i < g.size.parameters; ++i) count += g.parameters[i].count();
  return count;
}

constexpr long long trainable_parameter_count(graph_view const& g) {
  long long count = 0;
  for (int i = 0; i < g.size.parameters; ++i)
    if (g.parameters[i].trainable()) count += g.parameters[i].count();
  return count;
}

}  // namespace dsl
