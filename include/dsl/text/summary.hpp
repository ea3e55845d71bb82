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

/// The names of layers, which are the same in the table and in the compiler's messages: dsl::at<2, 1, 0> is "2.1.0".
class layer_names {
 public:
  explicit layer_names(graph_view const& g);

  /// Return a layer's position, its nesting depth, and the name of its type.
  std::string path(int scope) const;
  int depth(int scope) const { return scope > 0 ? 1 + depth(graph_.scopes[scope].parent) : 0; }
  std::string name(int scope) const;
  /// Whether a layer consists of a single node, so that one line stands for both.
  bool is_one_node(int scope) const { return own_[at(scope)] == 1 && !parent_[at(scope)]; }

  /// Returns the name by which other lines refer to a node: the position of its layer and, if the layer has several
  /// nodes that are not in a child, the number of the node in the layer: "3:2".
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

/// Returns the node that computed a tensor. Transfers between devices are skipped.
int maker_of(graph_view const& g, int tensor);

/// Returns the lines of the table, without its header and totals.
std::vector<summary_line> summary_lines(graph_view const& g);

/// Returns the operations that a training step computes a second time to save memory, in the order in which it does so:
/// "4.0.0:2 batch_norm, 3:2 batch_norm".
std::string operations_again(graph_view const& g, plan const& p);

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the table of layers as text: positions as in the compiler's messages (dsl::at<2, 1> is 2.1), shapes as
/// channels x height x width, and parameters counted as in Keras. The column `connected to` names the inputs of a line
/// if they are not the output of the line before. If there are several devices, the table shows the device of each
/// layer and the share of each device. The memory shown is for training in `micro_batches` parts. If a limit
/// is given, the table also shows the operations that are computed a second time to stay within the limit.
std::string summary(graph_view const& g, int micro_batches = 1, memory_limit limit = {});

/// Prints the table for model::summary().
struct summary_printer {
  /// Prints summary() to standard output.
  static void print(graph_view const& g, int micro_batches, memory_limit limit);
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/summary_inl.hpp>
#endif
