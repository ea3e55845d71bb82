// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/io/onnx/load.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Whether ONNX files lack this node, because it does nothing in inference or flattens a value that is flat already.
inline bool onnx_is_left_out(graph_view const& g, node const& x) {
  return x.kind == op::dropout || x.kind == op::stochastic_depth || x.kind == op::transfer ||
         (x.kind == op::flatten && g.input_shape(x).is_flat());
}

TYPENET_INLINE std::vector<int> onnx_nodes_in_files(graph_view const& g) {
  std::vector<int> all;
  for (int n = 0; n < g.size.nodes; ++n)
    if (!onnx_is_left_out(g, g.nodes[n])) all.push_back(n);
  return all;
}

/// Returns the nodes that compute a node's operands, as indices into `nodes`, the list of nodes that files contain. The
/// operands of a sum may be in any order in a file, so their indices are sorted.
inline std::vector<int> onnx_operands(graph_view const& g, std::vector<int> const& nodes, node const& x) {
  std::vector<int> places;
  for (int i = 0; i < x.inputs; ++i) {
    int from = g.tensors[g.input(x, i)].producer;
    while (onnx_is_left_out(g, g.nodes[from])) from = g.tensors[g.input(g.nodes[from])].producer;
    places.push_back(static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), from) - nodes.begin()));
  }
  if (x.kind == op::add) std::sort(places.begin(), places.end());
  return places;
}

/// Whether two nodes compute the same function, apart from their weights.
inline bool onnx_computes_the_same(graph_view const& a, node const& x, graph_view const& b, node const& y) {
  return x.kind == y.kind && a.output_shape(x) == b.output_shape(y) && x.window == y.window && x.groups == y.groups &&
         x.function == y.function && static_cast<float>(x.rate) == static_cast<float>(y.rate) &&
         static_cast<float>(x.epsilon) == static_cast<float>(y.epsilon) &&
         static_cast<float>(x.power) == static_cast<float>(y.power) && x.first_channel == y.first_channel &&
         x.counts_padding == y.counts_padding && (x.parameters == y.parameters);
}

inline std::string onnx_node_text(graph_view const& g, node const& x) {
  shape const& s = g.output_shape(x);
  std::string const size =
      s.is_flat() ? std::to_string(s.channels)
                  : std::to_string(s.channels) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width);
  return std::string(facts_of(x).name) + " with the result " + size;
}

TYPENET_INLINE void require_same_structure(graph_view const& g, imported_network const& net, std::string const& file) {
  graph_view const f = net.view();
  std::vector<int> const ours = onnx_nodes_in_files(g), theirs = onnx_nodes_in_files(f);
  auto const fail = [&](std::string const& what) {
    throw onnx_error(onnx_fault::other_network,
                     "onnx: " + file + ": " + what +
                         "; give a file of this network, or make a network from this file with "
                         "onnx_to_typenet");
  };
  std::size_t const count = std::min(ours.size(), theirs.size());
  for (std::size_t i = 0; i < count; ++i) {
    node const &x = g.nodes[ours[i]], &y = f.nodes[theirs[i]];
    if (!onnx_computes_the_same(g, x, f, y) || onnx_operands(g, ours, x) != onnx_operands(f, theirs, y)) {
      bool const same = onnx_node_text(g, x) == onnx_node_text(f, y);
      fail(net.place(theirs[i]) + " must be the network's " + layer_place(g, x.scope) + ", " + onnx_node_text(g, x) +
           "; found " + onnx_node_text(f, y) +
           (same ? ", the same operation with other attributes (such as the stride) or other operands" : ""));
    }
    for (int k = 0; k < x.parameters; ++k) {
      long long const wanted = g.parameters[x.first_parameter + k].count();
      long long const found = f.parameters[y.first_parameter + k].count();
      if (wanted != found)
        fail(net.place(theirs[i]) + " must have " + counted(wanted, "number") + " in weight " + std::to_string(k) +
             ", as the network's " + layer_place(g, x.scope) + " has; found " + std::to_string(found));
    }
    for (int k = 0; k < x.parameters; ++k) {
      parameter const& p = g.parameters[x.first_parameter + k];
      auto const own = static_cast<float>(p.initial.number);
      for (float found : net.weights(y.first_parameter + k))
        if (p.constant && !(found == own))
          fail(message({net.place(theirs[i]), " must have the constant ", p.initial.number, " of the network's ",
                        layer_place(g, x.scope), "; found ", found}));
    }
  }
  bool const has_softmax = ours.size() == theirs.size() + 1 && g.nodes[ours.back()].kind == op::softmax;
  if (ours.size() > theirs.size() && !has_softmax)
    fail("it must end where the network ends; found that the network continues with " +
         layer_place(g, g.nodes[ours[count]].scope) + ", " + onnx_node_text(g, g.nodes[ours[count]]));
  if (theirs.size() > ours.size())
    fail(net.place(theirs[count]) + " must be a layer of the network; found that the network ends before it");
}

/// Returns a file's normalisation under the names of the network's inputs. Both have the same structure.
inline normalization onnx_normalization(graph_view const& g, imported_network const& net) {
  normalization all = net.normalization();
  graph_view const f = net.view();
  for (input_moments& m : all.inputs) {
    if (m.input.empty()) continue;
    int number = 0, theirs = 0;  // of the further input
    for (int n = 1; n < f.size.nodes; ++n)
      if (is_further_input(f, n)) {
        ++number;
        if (name_of_input(f, n) == m.input) theirs = number;
      }
    number = 0;
    std::string name;
    for (int n = 1; n < g.size.nodes; ++n)
      if (is_further_input(g, n) && ++number == theirs) name = name_of_input(g, n);
    m.input = std::move(name);
  }
  return all;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void load_onnx(engine& e, std::string const& path, onnx_import_options const& o) {
  std::unique_ptr<imported_network> const net = import_onnx(path, o);
  detail::require_same_structure(e.graph(), *net, path);
  for (int k = 0; k < e.graph().size.parameters; ++k)
    if (!e.graph().parameters[k].constant) e.write_parameter(k, net->weights(k).data());
  normalization n = detail::onnx_normalization(e.graph(), *net);
  if (!n.empty()) e.set_normalization(std::make_shared<normalization const>(std::move(n)));
}

TYPENET_INLINE void load_onnx(trainer& t, std::string const& path, onnx_import_options const& o) {
  load_onnx(t.engine(), path, o);
}

TYPENET_INLINE void load_onnx(predictor& p, std::string const& path, onnx_import_options const& o) {
  load_onnx(p.engine(), path, o);
}

}  // namespace dsl::TYPENET_MODE
