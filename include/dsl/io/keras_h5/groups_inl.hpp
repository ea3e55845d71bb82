// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/table.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/weight_names.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dsl::keras_h5::detail::TYPENET_MODE {

TYPENET_INLINE keras_layers::keras_layers(graph_view const& g, model_layers const& of, bool with_padding)
    : graph_(g), of_(of), padded_(with_padding), only_reader_(static_cast<std::size_t>(g.size.tensors), -1) {
  std::vector<int> readers(only_reader_.size());
  for (int n = 0; n < g.size.nodes; ++n)
    for (int i = 0; i < g.nodes[n].inputs; ++i) {
      std::size_t const t = at(g.input(g.nodes[n], i));
      only_reader_[t] = readers[t]++ == 0 ? n : -1;
    }
}

TYPENET_INLINE bool keras_layers::begins_separable(node const& n) const {
  int const reader = only_reader_[at(n.output)];
  if (!of_.separable_convolutions || !formats::is_depthwise(graph_, n) || n.parameters != 1 || reader < 0) return false;
  node const& next = graph_.nodes[reader];
  window const& w = next.window;
  return next.kind == op::conv2d && next.groups == 1 && w.height == 1 && w.width == 1 &&
         graph_.output_shape(next).area() == graph_.output_shape(n).area();
}

TYPENET_INLINE bool keras_layers::ends_separable(node const& n) const {
  return n.kind == op::conv2d && begins_separable(graph_.nodes[producer(static_cast<int>(&n - graph_.nodes), 0)]);
}

TYPENET_INLINE bool keras_layers::is_layer(node const& n) const {
  if (n.kind == op::transfer || begins_separable(n)) return false;
  if (!of_.fused_activations || !formats::row_of(n.kind).is_activation) return true;
  node const* before = &graph_.nodes[graph_.tensors[graph_.input(n)].producer];
  while (before->kind == op::transfer) before = &graph_.nodes[graph_.tensors[graph_.input(*before)].producer];
  return !formats::row_of(before->kind).takes_activation;
}

TYPENET_INLINE int keras_layers::activations() const {
  int all = 0;
  for (int n = 0; n < graph_.size.nodes; ++n)
    all += formats::row_of(graph_.nodes[n].kind).is_activation && is_layer(graph_.nodes[n]);
  return all;
}

TYPENET_INLINE bool keras_layers::needs_zero_padding(node const& n) const {
  operations::makes const output = facts_of(n).output;
  if (output != operations::makes::windows && output != operations::makes::pooled) return false;
  auto const keras_has = [](int in, int out, window_side const& s) {
    long long const zeros = s.behind(in, out) + s.before, all = zeros > 0 ? zeros : 0;  // that the last window needs
    bool const valid = s.before == 0 && zeros <= 0;
    bool const same = out == (in + s.stride - 1) / s.stride && s.before == all / 2;
    return valid || same;
  };
  shape const &in = graph_.input_shape(n), &out = graph_.output_shape(n);
  return !keras_has(in.height, out.height, n.window.rows()) || !keras_has(in.width, out.width, n.window.columns());
}

TYPENET_INLINE std::vector<int> keras_layers::in_order() const {
  auto const nodes = static_cast<std::size_t>(graph_.size.nodes);
  std::vector<int> distance(nodes), met(nodes, -1), order, waiting{graph_.size.nodes - 1};
  for (int n = graph_.size.nodes - 1; n >= 0; --n) {
    node const& x = graph_.nodes[n];
    int const layers = (is_layer(x) ? 1 : 0) + (padded_ && needs_zero_padding(x) ? 1 : 0);
    for (int i = 0; i < x.inputs; ++i) {
      int& before = distance[at(producer(n, i))];
      before = std::max(before, distance[at(n)] + layers);
    }
  }
  for (int count = 0; !waiting.empty();) {
    int const n = waiting.back();
    waiting.pop_back();
    if (met[at(n)] >= 0) continue;
    met[at(n)] = count++;
    if (has_weights(graph_, graph_.nodes[n])) order.push_back(n);
    for (int i = graph_.nodes[n].inputs - 1; i >= 0; --i) waiting.push_back(producer(n, i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return distance[at(a)] != distance[at(b)] ? distance[at(a)] > distance[at(b)] : met[at(a)] < met[at(b)];
  });
  return order;
}

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

TYPENET_INLINE std::vector<std::string> groups(graph_view const& g, model_layers const& of) {
  std::vector<std::string> by_node(static_cast<std::size_t>(g.size.nodes)), all;
  dsl::detail::keras_names names;
  detail::keras_layers const layers(g, of);
  for (int n : layers.in_order())
    if (node const& x = g.nodes[n]; !layers.begins_separable(x))
      by_node[static_cast<std::size_t>(n)] =
          "layers/" + (layers.ends_separable(x) ? names.next("separable_conv2d") : names.next(g, x));
  for (std::string& name : by_node)
    if (!name.empty()) all.push_back(std::move(name));
  return all;
}

}  // namespace dsl::keras_h5::TYPENET_MODE
