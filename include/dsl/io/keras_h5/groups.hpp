// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>
#include <dsl/io/weight_names.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dsl::keras_h5 {
namespace detail {

/// The layers that Keras has for a network's nodes, and the order in which it keeps them.
class keras_layers {
 public:
  [[gnu::cold]] keras_layers(graph_view const& g, bool fused_activations) : graph_(g), fused_(fused_activations) {}

  /// Conv2D and Dense may have their activation inside.
  [[gnu::cold]] bool is_layer(node const& n) const {
    if (n.kind == op::transfer) return false;
    if (!fused_ || (n.kind != op::activation && n.kind != op::softmax)) return true;
    node const* before = &graph_.nodes[graph_.tensors[graph_.input(n)].producer];
    while (before->kind == op::transfer) before = &graph_.nodes[graph_.tensors[graph_.input(*before)].producer];
    return before->kind != op::conv2d && before->kind != op::dense;
  }
  /// Nodes with parameters, as Keras numbers them: those farthest from the output first, and at one distance in the
  /// order in which a walk from the output, inputs from the left, meets them. On a chain that is the data's order, and
  /// for branches of one length the branches'.
  [[gnu::cold]] std::vector<int> in_order() const {
    auto const nodes = static_cast<std::size_t>(graph_.size.nodes);
    std::vector<int> distance(nodes), met(nodes, -1), order, waiting{graph_.size.nodes - 1};
    for (int n = graph_.size.nodes - 1; n >= 0; --n)
      for (int i = 0; i < graph_.nodes[n].inputs; ++i) {
        int& before = distance[at(producer(n, i))];
        before = std::max(before, distance[at(n)] + (is_layer(graph_.nodes[n]) ? 1 : 0));
      }
    for (int count = 0; !waiting.empty();) {
      int const n = waiting.back();
      waiting.pop_back();
      if (met[at(n)] >= 0) continue;
      met[at(n)] = count++;
      if (graph_.nodes[n].parameters > 0) order.push_back(n);
      for (int i = graph_.nodes[n].inputs - 1; i >= 0; --i) waiting.push_back(producer(n, i));
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return distance[at(a)] != distance[at(b)] ? distance[at(a)] > distance[at(b)] : met[at(a)] < met[at(b)];
    });
    return order;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int producer(int n, int i) const { return graph_.tensors[graph_.input(graph_.nodes[n], i)].producer; }

  graph_view graph_;
  bool fused_;
};

}  // namespace detail

/// Where a Sequential or Functional model that has no model inside keeps its layers: for each node with parameters, in
/// the network's order, "layers/conv2d_1". `fused_activations`: Keras's layers are Conv2D(activation="relu"), not a
/// Conv2D and an Activation. That makes a difference where branches have different lengths, and nowhere else.
[[gnu::cold]] inline std::vector<std::string> groups(graph_view const& g, bool fused_activations = false) {
  std::vector<std::string> by_node(static_cast<std::size_t>(g.size.nodes)), all;
  dsl::detail::keras_names layers;
  for (int n : detail::keras_layers(g, fused_activations).in_order())
    by_node[static_cast<std::size_t>(n)] = "layers/" + layers.next(g, g.nodes[n]);
  for (std::string& name : by_node)
    if (!name.empty()) all.push_back(std::move(name));
  return all;
}

}  // namespace dsl::keras_h5
