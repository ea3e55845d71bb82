// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>

namespace dsl {

/// The sizes of a graph, found by lowering the network once without storing anything.
struct graph_sizes {
  int nodes = 0;
  int edges = 0;
  int tensors = 0;
  int parameters = 0;
  int scopes = 0;
  int devices = 1;  // one more than the highest device of a node
};

/// A view of a network's nodes in topological order and of its other tables, which passes, plans and executors read.
/// The view does not own the arrays.
struct graph_view {
  node const* nodes = nullptr;
  int const* edges = nullptr;
  tensor const* tensors = nullptr;
  parameter const* parameters = nullptr;
  scope const* scopes = nullptr;
  graph_sizes size{};

  /// Returns the tensor that is a node's operand i.
  constexpr int input(node const& n, int i = 0) const { return edges[n.first_input + i]; }
  /// Return the shape of a tensor, of a node's operand i, and of a node's output.
  constexpr shape const& shape_of(int tensor) const { return tensors[tensor].shape; }
  constexpr shape const& input_shape(node const& n, int i = 0) const { return tensors[input(n, i)].shape; }
  constexpr shape const& output_shape(node const& n) const { return tensors[n.output].shape; }
  /// Returns the tensor of the network's result, the output of the last node.
  constexpr int result() const { return nodes[size.nodes - 1].output; }
};

/// The arrays of a network, which a graph_view refers to. They have exactly the sizes needed.
template <graph_sizes Sizes>
struct graph {
  node nodes[Sizes.nodes > 0 ? Sizes.nodes : 1]{};
  int edges[Sizes.edges > 0 ? Sizes.edges : 1]{};
  tensor tensors[Sizes.tensors > 0 ? Sizes.tensors : 1]{};
  parameter parameters[Sizes.parameters > 0 ? Sizes.parameters : 1]{};
  scope scopes[Sizes.scopes > 0 ? Sizes.scopes : 1]{};

  /// Returns a view of the arrays. The arrays must outlive the view.
  constexpr graph_view view() const { return {nodes, edges, tensors, parameters, scopes, Sizes}; }
};

/// Whether a node is a further input, which named_input<...> makes. Its scope has the input's name.
constexpr bool is_further_input(graph_view const& g, int n) { return n > 0 && g.nodes[n].kind == op::input; }
/// Returns the number of further inputs before node n. If n is the number of nodes, this is the number of all further
/// inputs.
constexpr int further_inputs(graph_view const& g, int n) {
  int count = 0;
  for (int i = 1; i < n; ++i) count += is_further_input(g, i) ? 1 : 0;
  return count;
}
/// Returns the number of different tokens that an input may have: the smallest vocabulary of the embeddings that read
/// the input. Returns 0 if no embedding reads it; the input may then have any numbers.
constexpr int vocabulary_of(graph_view const& g, int input) {
  int least = 0;
  for (int n = 0; n < g.size.nodes; ++n) {
    if (g.nodes[n].kind != op::embedding) continue;
    int from = g.tensors[g.input(g.nodes[n])].producer;
    while (g.nodes[from].kind == op::transfer) from = g.tensors[g.input(g.nodes[from])].producer;  // to another device
    if (from == input && (least == 0 || g.nodes[n].groups < least)) least = g.nodes[n].groups;
  }
  return least;
}
/// Whether a node computes a further output, which named_output<...> makes.
constexpr bool is_further_output(graph_view const& g, int n) { return g.nodes[n].further_output > 0; }
/// Whether a node computes an output of the network: a further one, or its result.
constexpr bool is_output(graph_view const& g, int n) { return n == g.size.nodes - 1 || is_further_output(g, n); }
/// Returns the number of a node's output: 0 for the network's result, and 1, 2, ... for further ones in graph order.
constexpr int output_number(graph_view const& g, int n) {
  int number = n == g.size.nodes - 1 ? 0 : 1;
  for (int i = 0; number > 0 && i < n; ++i) number += is_further_output(g, i) ? 1 : 0;
  return number;
}
/// Returns the number of outputs, the network's result included.
constexpr int output_count(graph_view const& g) {
  int count = 1;
  for (int n = 0; n < g.size.nodes; ++n) count += is_further_output(g, n) ? 1 : 0;
  return count;
}
/// Returns the node that computes output number k.
constexpr int output_node(graph_view const& g, int k) {
  int n = 0;
  if (k == 0) return g.size.nodes - 1;
  while (!is_further_output(g, n) || --k > 0) ++n;
  return n;
}
/// Returns a node's number, without counting the transfers between devices. Dropout draws its random numbers with this
/// number, so that a network draws the same random numbers on several devices as on one.
constexpr int number_of(graph_view const& g, int n) {
  int number = n;
  for (int i = 0; g.size.devices > 1 && i < n; ++i)
    if (node const& x = g.nodes[i];
        x.kind == op::transfer && x.device != g.nodes[g.tensors[g.input(x)].producer].device)
      --number;
  return number;
}

/// Returns the multiply-adds of one node's forward pass for one sample; by convention only convolutions, dense layers
/// the two matrix products of attention and those of recurrent layers count. Shifted windows of attention count as if
/// their pixels all saw each other.
constexpr long long forward_macs(graph_view const& g, node const& n) {
  if (n.kind == op::attention || n.kind == op::causal_attention) {
    long long const tokens = g.output_shape(n).area();
    long long const pairs = n.kind == op::attention ? tokens * tokens : tokens * (tokens + 1) / 2;
    return 2 * pairs * g.output_shape(n).channels;
  }
  if (n.kind == op::window_attention || n.kind == op::bounded_window_attention)
    return 2LL * n.window.height * n.window.width * g.output_shape(n).size();
  if (n.kind == op::lstm || n.kind == op::gru) {
    int const k = n.first_parameter;
    return (g.parameters[k].count() + g.parameters[k + 1].count()) * g.input_shape(n).area();
  }
  if (n.kind != op::conv2d && n.kind != op::dense && n.kind != op::conv2d_transpose) return 0;
  shape const& kernels_are_for = n.kind == op::conv2d_transpose ? g.input_shape(n) : g.output_shape(n);
  return g.parameters[n.first_parameter].count() * kernels_are_for.area();
}

/// Returns the multiply-adds of a forward pass for one sample.
constexpr long long forward_macs(graph_view const& g) {
  long long macs = 0;
  for (int i = 0; i < g.size.nodes; ++i) macs += forward_macs(g, g.nodes[i]);
  return macs;
}

/// Whether a node has parameters that are not constants.
constexpr bool has_weights(graph_view const& g, node const& n) {
  bool any = false;
  for (int k = n.first_parameter; k < n.first_parameter + n.parameters; ++k) any = any || !g.parameters[k].constant;
  return any;
}

/// Returns the number of all parameters, running statistics of batch_norm included and constants excluded, as Keras
/// counts them.
constexpr long long parameter_count(graph_view const& g) {
  long long count = 0;
  for (int i = 0; i < g.size.parameters; ++i)
    if (!g.parameters[i].constant) count += g.parameters[i].count();
  return count;
}

/// Returns the number of parameters that the optimizer changes.
constexpr long long trainable_parameter_count(graph_view const& g) {
  long long count = 0;
  for (int i = 0; i < g.size.parameters; ++i)
    if (g.parameters[i].trainable() && !g.parameters[i].constant) count += g.parameters[i].count();
  return count;
}

}  // namespace dsl
