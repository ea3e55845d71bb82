// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>

#include <string>
#include <vector>

namespace dsl::text::TYPENET_MODE {

/// The word for a node that its layer gave no name of its own.
inline std::string operation(node const& n) { return detail::word_of(n); }

/// Names of layers as the table and the compiler's dsl::at<2, 1, 0> have them: "2.1.0".
class layer_names {
 public:
  explicit layer_names(graph_view const& g);

  std::string path(int scope) const;
  int depth(int scope) const { return scope > 0 ? 1 + depth(graph_.scopes[scope].parent) : 0; }
  std::string name(int scope) const;
  /// A layer of one node needs no line of its own: the node's says it all.
  bool is_one_node(int scope) const { return own_[at(scope)] == 1 && !parent_[at(scope)]; }

  /// What other lines call a node: its layer, and which of its layer's own nodes it is where there are several: "3:2".
  std::string reference(int n) const;
  std::string line(int n) const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  graph_view graph_;
  std::vector<int> own_;      // per scope: nodes
  std::vector<bool> parent_;  // per scope: has scopes inside
  std::vector<int> rank_;     // per node, from 1 in its scope
};

struct summary_line {
  std::string layer{}, output{}, parameters{}, device{}, from{};
};

/// The node that made what another one reads, on whichever device.
int maker_of(graph_view const& g, int tensor);

std::vector<summary_line> summary_lines(graph_view const& g);

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The table of layers as text: places as in the compiler's messages (dsl::at<2, 1> is 2.1), shapes as
/// channels x height x width, Keras's count of parameters. `connected to` says where a line's input comes from if not
/// from the line before. On several devices it says where each layer is, and what each device has. Memory is that of a
/// training that takes each batch in so many parts.
std::string summary(graph_view const& g, int micro_batches = 1);

/// What model::summary() calls.
struct summary_printer {
  static void print(graph_view const& g, int micro_batches);
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/summary_inl.hpp>
#endif
