// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>
#include <dsl/text/summary.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// What stands above a network's picture.
struct dot_options {
  std::string title{};    // above the counts of parameters and multiply-adds
  int towers = 1;         // replicate<G, ...> knows its own
  int micro_batches = 1;  // pipeline<M, ...>, too
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::text::TYPENET_MODE {

/// Returns a text in Graphviz's language, with quotes: say "hi" & go -> "say \"hi\" &amp; go". A new line is one in the
/// picture; other control characters are blanks, and the name of a character, &#27;, is text.
std::string dot_string(std::string_view s);

/// What a layer's name does not say, nor its shape: " 3x3, stride 2" of a convolution, " 0.5" of a dropout.
std::string dot_details(graph_view const& g, node const& n);

/// The one pass over a network's nodes. Modules are clusters inside each other; since a layer's nodes come one after
/// the other, none is left and entered again.
class dot_writer {
 public:
  explicit dot_writer(graph_view const& g);

  /// Nodes and clusters, each line after so many blanks.
  std::string layers(int indent);

  /// Dashed where a value goes to another device.
  std::string edges(int indent);

 private:
  static constexpr int nobody = -1, several = -2;

  bool placed() const { return graph_.size.devices > 1; }
  int device_of(int scope) const { return device_[static_cast<std::size_t>(scope)]; }

  std::string label(int i) const;
  /// A colour for each device; on one, what has parameters stands out.
  std::string look(node const& n) const;

  void enter(int scope, int indent);
  void leave(int indent);
  void line(int indent, std::string const& words);

  graph_view graph_;
  layer_names names_;
  std::vector<int> device_;  // of all nodes in a scope
  std::vector<int> open_{};  // clusters
  std::string text_{};
};

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The picture of a network, for Graphviz: a node a layer, with its place, shape and parameters; modules, branches and
/// what is on one device are frames around them. The text depends on the network alone.
///   dot -Tsvg network.dot -o network.svg
std::string dot(graph_view const& g, dot_options const& o = {});

/// dot<dsl::replicate<4, model>>() has a frame for the towers, dot<dsl::pipeline<4, model>>() one for micro-batches.
template <class Network>
  requires is_network<Network>
std::string dot(dot_options o = {}) {
  if constexpr (requires { Network::replicas; }) o.towers = Network::replicas;
  if constexpr (requires { Network::micro_batches; }) o.micro_batches = Network::micro_batches;
  return dot(Network::view(), o);
}

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/dot_inl.hpp>
#endif
