// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <vector>

namespace dsl::keras_h5::TYPENET_MODE {

/// Says which of a network's nodes are one layer in a Keras model.
struct model_layers {
  /// Whether the model has Conv2D(activation="relu") instead of a Conv2D and an Activation.
  bool fused_activations = false;
  /// Whether the model has a SeparableConv2D instead of a depthwise convolution without bias and, directly behind it, a
  /// 1x1 convolution.
  bool separable_convolutions = false;
};

}  // namespace dsl::keras_h5::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// The layers that a Keras model has for a network's nodes, and the order in which Keras saves them.
class keras_layers {
 public:
  /// If `with_padding` is true, the model has a ZeroPadding2D before each layer whose padding is neither Keras's `same`
  /// nor `valid`.
  keras_layers(graph_view const& g, model_layers const& of, bool with_padding = false);

  /// Whether a node is a separate layer in Keras; an activation may be part of a Conv2D or Dense, and a depthwise
  /// convolution part of a SeparableConv2D.
  bool is_layer(node const& n) const;
  /// Returns the number of activations that are separate layers.
  int activations() const;
  /// Whether a node is the depthwise convolution of a SeparableConv2D, or the convolution behind it.
  bool begins_separable(node const& n) const;
  bool ends_separable(node const& n) const;
  /// Whether Keras's layer cannot have the padding of this convolution or pool, so that another layer must add the
  /// zeros before it.
  bool needs_zero_padding(node const& n) const;
  /// Returns the nodes with parameters in the order in which Keras numbers them. The nodes farthest from the output are
  /// first; nodes at the same distance are in the order of a traversal that starts at the output and visits inputs from
  /// left to right. In a chain this is the order of the layers, and for branches of equal length the order of the
  /// branches.
  std::vector<int> in_order() const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int producer(int n, int i) const { return graph_.tensors[graph_.input(graph_.nodes[n], i)].producer; }

  graph_view graph_;
  model_layers of_;
  bool padded_;
  std::vector<int> only_reader_;  // of each tensor, a node; -1: it has none, or several
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

/// Returns the groups in which a Sequential or Functional model without nested models saves its layers: a group such as
/// "layers/conv2d_1" for each layer with parameters, in the network's order. `of.fused_activations` matters only
/// if branches have different lengths.
std::vector<std::string> groups(graph_view const& g, model_layers const& of = {});

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/keras_h5/groups_inl.hpp>
#endif
