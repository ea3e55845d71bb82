// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>

#include <cstddef>
#include <vector>

namespace dsl::text::TYPENET_MODE {

/// Finds equal blocks in a row: layers of the same parent that follow each other, each of several operations, with the
/// same structure, attributes and shapes, where each reads only what the one before it returns. A picture shows the
/// first of them for all. Networks with layers on several devices have none.
class repeated_blocks {
 public:
  explicit repeated_blocks(graph_view const& g);

  /// Returns how many equal blocks the scope stands for: 1 for most, 0 for one that an earlier one stands for.
  int count(int scope) const { return count_[at(scope)]; }
  /// Returns the last of the blocks that the scope stands for; itself for most.
  int last(int scope) const { return last_[at(scope)]; }
  /// Returns the node that stands for another one; itself for most.
  int shown(int node) const;

 private:
  struct range {
    int first = 0, end = 0;  // nodes
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void find_in(std::vector<int> const& layers);
  /// Whether a block has several operations that read nothing but each other and what the operation before it returns.
  bool stands_alone(int scope) const;
  /// Whether two blocks that stand alone do the same.
  bool equal(int a, int b) const;
  /// Whether nothing but the block `next` reads what a block returns, and nobody what is inside it.
  bool leads_only_to(int scope, int next) const;
  int producer(node const& n, int input) const { return graph_.tensors[graph_.input(n, input)].producer; }

  graph_view graph_;
  std::vector<range> ranges_;      // per scope
  std::vector<int> count_, last_;  // per scope
  std::vector<int> same_;          // per node: the equal one of the first block, or itself
};

}  // namespace dsl::text::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/repeated_blocks_inl.hpp>
#endif
