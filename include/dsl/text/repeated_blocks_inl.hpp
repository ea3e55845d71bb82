// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>
#include <dsl/text/repeated_blocks.hpp>

#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE repeated_blocks::repeated_blocks(graph_view const& g)
    : graph_(g),
      ranges_(at(g.size.scopes)),
      count_(at(g.size.scopes), 1),
      last_(count_.size()),
      same_(at(g.size.nodes)) {
  std::iota(last_.begin(), last_.end(), 0);
  std::iota(same_.begin(), same_.end(), 0);
  if (g.size.devices > 1) return;
  for (int i = 0; i < g.size.nodes; ++i)
    for (int s = g.nodes[i].scope; s >= 0; s = g.scopes[s].parent) {
      range& r = ranges_[at(s)];
      if (r.end == 0) r.first = i;
      r.end = i + 1;
    }
  std::vector<std::vector<int>> layers(count_.size());
  for (int s = 1; s < g.size.scopes; ++s) layers[at(g.scopes[s].parent)].push_back(s);
  for (std::vector<int> const& of_one_parent : layers) find_in(of_one_parent);
}

TYPENET_INLINE int repeated_blocks::shown(int node) const {
  while (same_[at(node)] != node) node = same_[at(node)];
  return node;
}

TYPENET_INLINE void repeated_blocks::find_in(std::vector<int> const& layers) {
  for (std::size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    int const first = layers[begin];
    end = begin + 1;
    while (end < layers.size() && stands_alone(first) && stands_alone(layers[end]) &&
           leads_only_to(layers[end - 1], layers[end]) && equal(first, layers[end]))
      ++end;
    count_[at(first)] = static_cast<int>(end - begin);
    last_[at(first)] = layers[end - 1];
    for (std::size_t i = begin + 1; i < end; ++i) {
      count_[at(layers[i])] = 0;
      range const& r = ranges_[at(layers[i])];
      for (int n = r.first; n < r.end; ++n) same_[at(n)] = ranges_[at(first)].first + n - r.first;
    }
  }
}

TYPENET_INLINE bool repeated_blocks::stands_alone(int scope) const {
  range const& r = ranges_[at(scope)];
  for (int i = r.first; i < r.end; ++i)
    for (int k = 0; k < graph_.nodes[i].inputs; ++k)
      if (producer(graph_.nodes[i], k) < r.first - 1) return false;
  return r.end - r.first > 1;
}

TYPENET_INLINE bool repeated_blocks::equal(int a, int b) const {
  range const &of_a = ranges_[at(a)], &of_b = ranges_[at(b)];
  if (of_a.end - of_a.first != of_b.end - of_b.first) return false;
  if ((graph_.scopes[a].is_named || graph_.scopes[b].is_named) && !same_name(a, b)) return false;
  for (int i = 0; i < of_a.end - of_a.first; ++i) {
    node x = graph_.nodes[of_a.first + i], y = graph_.nodes[of_b.first + i];
    if (x.inputs != y.inputs || graph_.output_shape(x) != graph_.output_shape(y)) return false;
    for (int k = 0; k < x.inputs; ++k)
      if (producer(x, k) - of_a.first != producer(y, k) - of_b.first ||
          graph_.input_shape(x, k) != graph_.input_shape(y, k))
        return false;
    int s = x.scope, t = y.scope;
    for (; s != a && t != b; s = graph_.scopes[s].parent, t = graph_.scopes[t].parent)
      if (graph_.scopes[s].index != graph_.scopes[t].index || !same_name(s, t)) return false;
    if (s != a || t != b) return false;
    for (node* n : {&x, &y}) n->first_input = n->output = n->first_parameter = n->scope = 0;
    if (x != y) return false;
  }
  return true;
}

TYPENET_INLINE bool repeated_blocks::same_name(int a, int b) const {
  scope const &x = graph_.scopes[a], &y = graph_.scopes[b];
  return x.is_named == y.is_named &&
         std::string_view(x.name.data, at(x.name.size)) == std::string_view(y.name.data, at(y.name.size));
}

TYPENET_INLINE bool repeated_blocks::leads_only_to(int scope, int next) const {
  range const& r = ranges_[at(scope)];
  if (ranges_[at(next)].first != r.end) return false;
  for (int i = r.end; i < graph_.size.nodes; ++i)
    for (int k = 0; k < graph_.nodes[i].inputs; ++k) {
      int const from = producer(graph_.nodes[i], k);
      if (from >= r.first && from < r.end && (from != r.end - 1 || i >= ranges_[at(next)].end)) return false;
    }
  return true;
}

}  // namespace dsl::text::TYPENET_MODE
