// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dsl {

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

namespace detail {

[[gnu::cold]] inline char const* role_name(role r, weight_convention c) {
  bool const torch = c == weight_convention::torch;
  switch (r) {
    case role::kernel: return torch ? "weight" : "kernel";
    case role::bias: return "bias";
    case role::gamma: return torch ? "weight" : "gamma";
    case role::beta: return torch ? "bias" : "beta";
    case role::moving_mean: return torch ? "running_mean" : "moving_mean";
    case role::moving_variance: break;
  }
  return torch ? "running_var" : "moving_variance";
}

/// Whether each channel of a convolution is a group of its own.
[[gnu::cold]] constexpr bool is_depthwise(graph_view const& g, node const& n) {
  return n.kind == op::conv2d && n.groups > 1 && n.groups == g.input_shape(n).channels;
}

/// The class of Keras's for a node with parameters, as it names layers.
[[gnu::cold]] inline std::string keras_class(graph_view const& g, node const& n) {
  switch (n.kind) {
    case op::conv2d: return is_depthwise(g, n) ? "depthwise_conv2d" : "conv2d";
    case op::batch_norm: return "batch_normalization";
    case op::dense: return "dense";
    case op::layer_norm: return "layer_normalization";
    default: return "layer";
  }
}

/// Names layers as Keras does: its class, and for all but the first of a class a number.
class keras_names {
 public:
  [[gnu::cold]] std::string next(graph_view const& g, node const& n) {
    std::string const name = keras_class(g, n);
    int const number = count_[name]++;
    return number > 0 ? name + "_" + std::to_string(number) : name;
  }

 private:
  std::map<std::string, int> count_{};
};

/// Where modules are in a tree of nn.Sequential: scopes' numbers, with the name of the list that holds branches
/// between, or the names that a model gives them.
class torch_tree {
 public:
  [[gnu::cold]] torch_tree(graph_view const& g, std::string const& branches)
      : graph_(g), branches_(branches), joins_(static_cast<std::size_t>(g.size.scopes)), children_(joins_.size()) {
    for (int n = 0; n < g.size.nodes; ++n)
      if (node const& x = g.nodes[n]; facts_of(x).inputs > 1) joins_[at(x.scope)] = 1;
    for (int s = 1; s < g.size.scopes; ++s) ++children_[at(g.scopes[s].parent)];
  }

  /// "1.branches.0.0." of a scope. A network that is one type, as network<image<...>, minigooglenet<10>>, is the model.
  /// A name follows the name around it, whatever lies between; the one layer that a name is given to adds nothing.
  [[gnu::cold]] std::string path(int s) const {
    if (s <= 0) return {};
    scope const& x = graph_.scopes[s];
    int const parent = x.parent;
    if (x.is_named) return path(name_around(parent)) + std::string(x.name.data, at(x.name.size)) + ".";
    if (graph_.scopes[parent].numbers_children) return path(name_around(parent)) + std::to_string(x.index) + ".";
    if (graph_.scopes[parent].is_named && children_[at(parent)] == 1) return path(parent);
    if (parent == 0 && children_[0] == 1 && children_[at(s)] > 0) return {};
    std::string const list = joins_[at(parent)] && !branches_.empty() ? branches_ + "." : "";
    return path(parent) + list + std::to_string(graph_.scopes[s].index) + ".";
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  /// The innermost scope from s outwards that has a name, or a number for a name; the network.
  [[gnu::cold]] int name_around(int s) const {
    while (s > 0 && !graph_.scopes[s].is_named && !graph_.scopes[graph_.scopes[s].parent].numbers_children)
      s = graph_.scopes[s].parent;
    return s;
  }

  graph_view const& graph_;
  std::string const& branches_;
  std::vector<char> joins_;
  std::vector<int> children_;
};

}  // namespace detail

/// Of every parameter, in the graph's order. Keras's are those that it gives layers itself, counted for each class, in
/// a model that makes them in the network's order: as the data goes through them, branch by branch. Throws option_error
/// where named<> gives two parameters the same name.
[[gnu::cold]] inline std::vector<std::string> weight_names(graph_view const& g, weight_naming const& naming = {}) {
  std::vector<std::string> names;
  detail::torch_tree const tree(g, naming.branches);
  std::vector<int> in_scope(static_cast<std::size_t>(g.size.scopes));
  detail::keras_names layers;
  std::set<std::string> taken;
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    if (x.parameters == 0) continue;
    std::string layer;
    if (naming.convention == weight_convention::torch) {
      // A layer of a user's own may have several such nodes; torch has no names for them.
      int const earlier = in_scope[static_cast<std::size_t>(x.scope)]++;
      layer = tree.path(x.scope) + (earlier > 0 ? "node" + std::to_string(earlier) + "." : "");
    } else {
      layer = layers.next(g, x) + "/";
    }
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
      names.push_back(naming.prefix + layer + detail::role_name(g.parameters[k].role, naming.convention));
      if (!taken.insert(names.back()).second)
        throw option_error("weights: each must have a name of its own; found two called \"" + names.back() +
                           "\"; give their layers different names, or put numbered<...> around them");
    }
  }
  return names;
}

}  // namespace dsl
