// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/formats/table.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/weight_names.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE char const* role_name(role r, weight_convention c) {
  bool const torch = c == weight_convention::torch;
  switch (r) {
    case role::kernel: return torch ? "weight" : "kernel";
    case role::bias: return "bias";
    case role::gamma: return torch ? "weight" : "gamma";
    case role::beta: return torch ? "bias" : "beta";
    case role::moving_mean: return torch ? "running_mean" : "moving_mean";
    case role::moving_variance: return torch ? "running_var" : "moving_variance";
    case role::recurrent_kernel: return "recurrent_kernel";
    case role::recurrent_bias: break;
  }
  return "recurrent_bias";
}

TYPENET_INLINE std::string keras_class(graph_view const& g, node const& n) {
  formats::row const& row = formats::row_of(n.kind);
  return row.keras_class_of ? row.keras_class_of(g, n) : row.keras_class;
}

TYPENET_INLINE std::string keras_names::next(std::string const& name) {
  int const number = count_[name]++;
  return number > 0 ? name + "_" + std::to_string(number) : name;
}

TYPENET_INLINE torch_tree::torch_tree(graph_view const& g, std::string const& branches)
    : graph_(g),
      branches_(branches),
      joins_(static_cast<std::size_t>(g.size.scopes)),
      children_(joins_.size()),
      places_(joins_.size()) {
  std::vector<char> computes(joins_.size());  // whether a node or a layer is inside
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    if (facts_of(x).inputs > 1) joins_[at(x.scope)] = 1;
    computes[at(x.scope)] = 1;
  }
  for (int s = 1; s < g.size.scopes; ++s) computes[at(g.scopes[s].parent)] = 1;
  std::vector<int> marks(joins_.size());  // so far, in each scope
  for (int s = 1; s < g.size.scopes; ++s) {
    scope const& x = g.scopes[s];
    places_[at(s)] = x.index - marks[at(x.parent)];
    ++(x.is_mark && !computes[at(s)] ? marks : children_)[at(x.parent)];
  }
}

TYPENET_INLINE std::string torch_tree::path(int s) const {
  if (s <= 0) return {};
  scope const& x = graph_.scopes[s];
  int const parent = x.parent;
  if (x.is_named) {
    std::string const own(x.name.data, at(x.name.size));
    return path(name_around(parent)) + own + (own.ends_with('_') ? "" : ".");
  }
  std::string const place = std::to_string(places_[at(s)]) + ".";
  if (graph_.scopes[parent].numbers_children) return path(name_around(parent)) + place;
  if (graph_.scopes[parent].is_named && children_[at(parent)] == 1) return path(parent);
  if (parent == 0 && children_[0] == 1 && children_[at(s)] > 0) return {};
  std::string const list = joins_[at(parent)] && !branches_.empty() ? branches_ + "." : "";
  return path(parent) + list + place;
}

TYPENET_INLINE bool torch_tree::has_its_name_alone(int s) const {
  int const parent = s > 0 ? graph_.scopes[s].parent : 0;
  return parent > 0 && graph_.scopes[parent].is_named && children_[at(parent)] == 1;
}

TYPENET_INLINE int torch_tree::name_around(int s) const {
  while (s > 0 && !graph_.scopes[s].is_named && !graph_.scopes[graph_.scopes[s].parent].numbers_children)
    s = graph_.scopes[s].parent;
  return s;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::vector<std::string> weight_names(graph_view const& g, weight_naming const& naming) {
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
      // A custom layer may have several such nodes; torch has no names for them.
      int const earlier = in_scope[static_cast<std::size_t>(x.scope)]++;
      layer = tree.path(x.scope) + (earlier > 0 ? "node" + std::to_string(earlier) + "." : "");
    } else if (has_weights(g, x)) {
      layer = layers.next(g, x) + "/";
    }
    // In PyTorch these are not modules, but parameters of the module around them.
    formats::row const& row = formats::row_of(x.kind);
    bool const torch = naming.convention == weight_convention::torch;
    bool const is_parameter = torch && row.is_parameter && tree.has_its_name_alone(x.scope);
    if (is_parameter && layer.ends_with('.')) layer.pop_back();
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
      // x * 0.5 has no tensor in PyTorch's files, while a normalisation has its weight.
      if (g.parameters[k].constant && (!torch || row.is_parameter)) {
        names.emplace_back();
        continue;
      }
      role const r = g.parameters[k].role;
      names.push_back(naming.prefix + layer +
                      (is_parameter                  ? ""
                       : torch && row.torch_name     ? row.torch_name(r)
                       : !torch && r == role::kernel ? row.kernel_name
                                                     : detail::role_name(r, naming.convention)));
      if (!taken.insert(names.back()).second)
        throw option_error("weights: each must have a unique name; found two called \"" + names.back() +
                           "\"; give their layers different names, or put numbered<...> around them");
    }
  }
  return names;
}

}  // namespace dsl::TYPENET_MODE
