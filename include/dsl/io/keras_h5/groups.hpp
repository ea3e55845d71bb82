// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <vector>

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// The layers that Keras has for a network's nodes, and the order in which it saves them.
class keras_layers {
 public:
  /// `with_padding`: a ZeroPadding2D precedes a layer whose padding is neither Keras's `same` nor `valid`.
  [[gnu::cold]] keras_layers(graph_view const& g, bool fused_activations, bool with_padding = false)
      : graph_(g), fused_(fused_activations), padded_(with_padding) {}

  /// Whether a node is a layer of its own; Conv2D and Dense may include their activation.
  [[gnu::cold]] bool is_layer(node const& n) const;
  /// Whether Keras's layer has no such padding, so that another layer must add the zeros before a convolution or pool.
  [[gnu::cold]] bool needs_zero_padding(node const& n) const;
  /// Returns the nodes with parameters in the order in which Keras numbers them: those farthest from the output first
  /// and, at equal distance, in the order of a traversal from the output that visits inputs from left to right. In a
  /// chain this is the order of the layers, and for branches of equal length the order of the branches.
  [[gnu::cold]] std::vector<int> in_order() const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int producer(int n, int i) const { return graph_.tensors[graph_.input(graph_.nodes[n], i)].producer; }

  graph_view graph_;
  bool fused_;
  bool padded_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

/// Returns where a Sequential or Functional model without nested models saves its layers: for each node with
/// parameters, in the network's order, a group such as "layers/conv2d_1". `fused_activations`: the model has
/// Conv2D(activation="relu") instead of a Conv2D and an Activation. This matters only if branches have different
/// lengths.
[[gnu::cold]] std::vector<std::string> groups(graph_view const& g, bool fused_activations = false);

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/groups_inl.hpp>
#endif
