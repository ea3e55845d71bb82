// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Whose names and axes weights have in a file.
///   torch: "1.branches.0.0.weight", kernels (out, in, height, width) and (out, in)
///   keras: "conv2d_1/kernel", kernels (height, width, in, out) and (in, out), of a depthwise convolution
///          "depthwise_conv2d/kernel" and (height, width, in, multiplier)
enum class weight_convention : unsigned char { torch, keras };

/// Under which names a model of the other framework knows the network's weights.
struct weight_naming {
  weight_convention convention = weight_convention::torch;
  std::string prefix{};  // in front of every name: "module."
  /// torch: the attribute with the branches of a concat or add, a ModuleList. Empty: there is none, since the joining
  /// module is a ModuleList itself.
  std::string branches = "branches";
};

/// What was found where weights were loaded from.
struct loaded_weights {
  int loaded = 0;                         // parameters
  std::vector<std::string> missing{};     // of the network, not in the file: they are as before
  std::vector<std::string> unexpected{};  // in the file, not of the network
  std::vector<std::string> mismatched{};  // in both, of different shapes, and left out: they are as before
  long long batches_tracked = -1;         // torch's num_batches_tracked; -1: the file has none
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold]] char const* role_name(role r, weight_convention c);

/// Whether each channel of a convolution is a group of its own.
[[gnu::cold]] constexpr bool is_depthwise(graph_view const& g, node const& n) {
  return n.kind == op::conv2d && n.groups > 1 && n.groups == g.input_shape(n).channels;
}

/// The class of Keras's for a node with parameters, as it names layers.
[[gnu::cold]] std::string keras_class(graph_view const& g, node const& n);

/// Names layers as Keras does: its class, and for all but the first of a class a number.
class keras_names {
 public:
  [[gnu::cold]] std::string next(graph_view const& g, node const& n);

 private:
  std::map<std::string, int> count_{};
};

/// Where modules are in a tree of nn.Sequential: scopes' numbers, with the name of the list that holds branches
/// between, or the names that a model gives them.
class torch_tree {
 public:
  [[gnu::cold]] torch_tree(graph_view const& g, std::string const& branches);

  /// "1.branches.0.0." of a scope. A network that is one type, as network<image<...>, minigooglenet<10>>, is the model.
  /// A name follows the name around it, whatever lies between; the one layer that a name is given to adds nothing.
  [[gnu::cold]] std::string path(int s) const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  /// The innermost scope from s outwards that has a name, or a number for a name; the network.
  [[gnu::cold]] int name_around(int s) const;

  graph_view const& graph_;
  std::string const& branches_;
  std::vector<char> joins_;
  std::vector<int> children_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Of every parameter, in the graph's order. Keras's are those that it gives layers itself, counted for each class, in
/// a model that makes them in the network's order: as the data goes through them, branch by branch. Throws option_error
/// where named<> gives two parameters the same name.
[[gnu::cold]] std::vector<std::string> weight_names(graph_view const& g, weight_naming const& naming = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/weight_names_inl.hpp>
#endif
