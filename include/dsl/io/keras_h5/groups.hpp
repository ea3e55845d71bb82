// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <vector>

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// The layers that Keras has for a network's nodes, and the order in which it keeps them.
class keras_layers {
 public:
  [[gnu::cold]] keras_layers(graph_view const& g, bool fused_activations) : graph_(g), fused_(fused_activations) {}

  /// Conv2D and Dense may have their activation inside.
  [[gnu::cold]] bool is_layer(node const& n) const;
  /// Nodes with parameters, as Keras numbers them: those farthest from the output first, and at one distance in the
  /// order in which a walk from the output, inputs from the left, meets them. On a chain that is the data's order, and
  /// for branches of one length the branches'.
  [[gnu::cold]] std::vector<int> in_order() const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int producer(int n, int i) const { return graph_.tensors[graph_.input(graph_.nodes[n], i)].producer; }

  graph_view graph_;
  bool fused_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

/// Where a Sequential or Functional model that has no model inside keeps its layers: for each node with parameters, in
/// the network's order, "layers/conv2d_1". `fused_activations`: Keras's layers are Conv2D(activation="relu"), not a
/// Conv2D and an Activation. That makes a difference where branches have different lengths, and nowhere else.
[[gnu::cold]] std::vector<std::string> groups(graph_view const& g, bool fused_activations = false);

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/groups_inl.hpp>
#endif
