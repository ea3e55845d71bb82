// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/graph.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The framework from which a file has the names and the axes of weights.
///   torch: "1.branches.0.0.weight", kernels (out, in, height, width) and (out, in)
///   keras: "conv2d_1/kernel", kernels (height, width, in, out) and (in, out); for a depthwise convolution
///          "depthwise_conv2d/kernel" and (height, width, in, multiplier)
enum class weight_convention : unsigned char { torch, keras };

/// The names that a model in another framework gives the network's weights.
struct weight_naming {
  weight_convention convention = weight_convention::torch;
  std::string prefix{};  // prepended to every name: "module."
  /// torch: the name of the attribute, a ModuleList, that holds the branches of a concat or add. Leave it empty if the
  /// module that joins the branches is itself a ModuleList.
  std::string branches = "branches";
};

/// The result of loading weights.
struct loaded_weights {
  int loaded = 0;                         // number of parameters loaded
  std::vector<std::string> names{};       // theirs, in the file
  std::vector<std::string> missing{};     // in the network, not in the file: unchanged
  std::vector<std::string> unexpected{};  // in the file, not in the network
  std::vector<std::string> mismatched{};  // in both with different shapes, and skipped: unchanged
  std::vector<std::string> skipped{};     // in no part of the network that was to be loaded: unchanged
  long long batches_tracked = -1;         // torch's num_batches_tracked; -1: not in the file
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the number of weights that were to be loaded. Constants, which files with Keras's names lack, are none.
inline int weights_looked_for(loaded_weights const& w) {
  return w.loaded + static_cast<int>(w.missing.size() + w.mismatched.size());
}

char const* role_name(role r, weight_convention c);

/// Returns the name that Keras derives from the class of the layer, for a node with parameters.
std::string keras_class(graph_view const& g, node const& n);

/// Names layers as Keras does: by their class, and with a number for every layer but the first of its class.
class keras_names {
 public:
  std::string next(graph_view const& g, node const& n) { return next(keras_class(g, n)); }
  /// Returns the name of the next layer of this class.
  std::string next(std::string const& name);

 private:
  std::map<std::string, int> count_{};
};

/// The paths of modules in a tree of nn.Sequential. A path consists of indices of scopes, the name of the list that
/// holds branches, and names from named<>.
class torch_tree {
 public:
  torch_tree(graph_view const& g, std::string const& branches);

  /// Returns a scope's path: "1.branches.0.0.". If a network consists of a single type, as network<image<...>,
  /// minigooglenet<10>> does, this type is the model itself. A name from named<> is appended to the next outer name,
  /// whatever scopes are between them. A single layer inside named<> adds nothing to the name.
  std::string path(int s) const;
  /// Whether a scope is the only layer inside a named<>.
  bool has_its_name_alone(int s) const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  /// Returns the innermost scope that has a name or is named by its index, beginning with s itself and going outwards.
  /// Returns 0, the network, if there is none.
  int name_around(int s) const;

  graph_view const& graph_;
  std::string const& branches_;
  std::vector<char> joins_;
  std::vector<int> children_;  // of each scope, without taps and the layers that only read them
  std::vector<int> places_;    // of each scope in its parent, without these
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the name of every parameter, in the graph's order. Constants have an empty one in Keras, and in PyTorch if
/// they are not the scale of a normalisation. The names for Keras are its default names, numbered by class, in a model
/// that creates its layers in the network's order, branch by branch.
/// Throws option_error if named<> gives two parameters the same name.
std::vector<std::string> weight_names(graph_view const& g, weight_naming const& naming = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/weight_names_inl.hpp>
#endif
