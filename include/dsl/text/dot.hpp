// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>
#include <dsl/text/repeated_blocks.hpp>
#include <dsl/text/summary.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The title of a network's diagram, and the settings that the network's type may add to it.
struct dot_options {
  std::string title{};    // above the counts of parameters and multiply-adds
  int towers = 1;         // replicate<G, ...> sets it
  int micro_batches = 1;  // pipeline<M, ...> sets it
  bool collapse = true;   // draws consecutive equal blocks once, with their number
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::text::TYPENET_MODE {

/// Returns a text as a quoted string in Graphviz's language: say "hi" & go -> "say \"hi\" &amp; go". A newline stays a
/// newline in the diagram, and other control characters become blanks. Character entities in the text, such as &#27;,
/// are not interpreted.
std::string dot_string(std::string_view s);

/// Returns details of a layer that its name and shape do not show: " 3x3, stride 2" for a convolution, " 0.5" for a
/// dropout.
std::string dot_details(node const& n);

/// Writes a network in one pass over its nodes. Modules become nested clusters. Each cluster is written in one piece,
/// since the nodes of a layer are consecutive.
class dot_writer {
 public:
  dot_writer(graph_view const& g, bool collapses);

  /// Returns nodes and clusters, each line after `indent` blanks.
  std::string layers(int indent);

  /// Returns the edges, dashed if a value goes to another device.
  std::string edges(int indent);

  /// Returns the node that is drawn in place of `node`: if blocks that are equal are drawn once, this is the
  /// corresponding node of the first block.
  int shown(int node) const { return collapses_ ? blocks_.shown(node) : node; }

 private:
  static constexpr int nobody = -1, several = -2;

  bool placed() const { return graph_.size.devices > 1; }
  int device_of(int scope) const { return device_[static_cast<std::size_t>(scope)]; }

  std::string label(int i) const;
  /// Returns the style of a node. If there are several devices, each device has a colour; if there is only one, nodes
  /// with parameters are coloured.
  std::string look(node const& n) const;

  void enter(int scope, int indent);
  void leave(int indent);
  void line(int indent, std::string const& words);

  graph_view graph_;
  layer_names names_;
  repeated_blocks blocks_;
  bool collapses_;
  std::vector<int> device_;  // per scope: the device of all its nodes
  std::vector<int> open_{};  // the open clusters
  std::string text_{};
};

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns a diagram of a network for Graphviz. It has a node for each layer, with the layer's position, shape and
/// parameters, and frames for modules, branches and devices. The text depends only on the network and the options.
///   dot -Tsvg network.dot -o network.svg
std::string dot(graph_view const& g, dot_options const& o = {});

/// Returns a diagram of a network type. dot<dsl::replicate<4, model>>() has a frame for the towers, and
/// dot<dsl::pipeline<4, model>>() has a frame for the micro-batches.
template <class Network>
  requires is_network<Network>
std::string dot(dot_options o = {}) {
  if constexpr (requires { Network::replicas; }) o.towers = Network::replicas;
  if constexpr (requires { Network::micro_batches; }) o.micro_batches = Network::micro_batches;
  return dot(Network::view(), o);
}

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/dot_inl.hpp>
#endif
