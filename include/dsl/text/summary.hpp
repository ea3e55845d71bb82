// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/plan/plan.hpp>

#include <string>
#include <vector>

namespace dsl::text::TYPENET_MODE {

/// Returns the name of a node's operation, for a layer without a name.
inline std::string operation(node const& n) { return detail::word_of(n); }

/// The names of layers as in the table and in the compiler's dsl::at<2, 1, 0>: "2.1.0".
class layer_names {
 public:
  explicit layer_names(graph_view const& g);

  /// Return a layer's position, its nesting depth, and the name of its type.
  std::string path(int scope) const;
  int depth(int scope) const { return scope > 0 ? 1 + depth(graph_.scopes[scope].parent) : 0; }
  std::string name(int scope) const;
  /// Whether a layer is a single node, whose line then stands for both.
  bool is_one_node(int scope) const { return own_[at(scope)] == 1 && !parent_[at(scope)]; }

  /// Returns how other lines name a node: by its layer and, if that has several nodes of its own, by its number there:
  /// "3:2".
  std::string reference(int n) const;
  /// Returns the first column of the line of node n: its position and its layer or operation, indented by depth.
  std::string line(int n) const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  graph_view graph_;
  std::vector<int> own_;      // per scope: number of its own nodes
  std::vector<bool> parent_;  // per scope: whether it contains scopes
  std::vector<int> rank_;     // per node: its number in its scope, from 1
};

/// The columns of one line of the table.
struct summary_line {
  std::string layer{}, output{}, parameters{}, device{}, from{};
};

/// Returns the node that computed a tensor, whichever device it is on, skipping transfers.
int maker_of(graph_view const& g, int tensor);

/// Returns the lines of the table, without its header and totals.
std::vector<summary_line> summary_lines(graph_view const& g);

/// Returns the operations that a training step runs a second time, in that order: "4.0.0:2 batch_norm, 3:2 batch_norm".
std::string operations_again(graph_view const& g, plan const& p);

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the table of layers as text: positions as in the compiler's messages (dsl::at<2, 1> is 2.1), shapes as
/// channels x height x width, and parameters counted as in Keras. The column `connected to` names the inputs of a line
/// that does not follow from the one before. On several devices it shows the device of each layer and the share of each
/// device. Memory is that of training in `micro_batches` parts; with a limit also the operations that run again to keep
/// it.
std::string summary(graph_view const& g, int micro_batches = 1, memory_limit limit = {});

/// The printer of model::summary().
struct summary_printer {
  /// Prints summary() to standard output.
  static void print(graph_view const& g, int micro_batches, memory_limit limit);
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/summary_inl.hpp>
#endif
