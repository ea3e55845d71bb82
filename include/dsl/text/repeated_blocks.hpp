// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>

#include <cstddef>
#include <vector>

namespace dsl::text::TYPENET_MODE {

/// Finds consecutive equal blocks: layers of one parent, each with several operations and with the same structure,
/// attributes and shapes, that read only the previous one's output. A diagram shows the first one in place of all.
/// Networks with layers on several devices have no such blocks.
class repeated_blocks {
 public:
  explicit repeated_blocks(graph_view const& g);

  /// Returns how many equal blocks the scope stands for: usually 1, and 0 for a block that an earlier one stands for.
  int count(int scope) const { return count_[at(scope)]; }
  /// Returns the last of the blocks that the scope stands for, usually itself.
  int last(int scope) const { return last_[at(scope)]; }
  /// Returns the node that stands for another one, usually itself.
  int shown(int node) const;

 private:
  struct range {
    int first = 0, end = 0;  // nodes
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void find_in(std::vector<int> const& layers);
  /// Whether a block has several operations that read only each other and the output of the operation before them.
  bool stands_alone(int scope) const;
  /// Whether two such blocks compute the same, and their parts have the same names.
  bool equal(int a, int b) const;
  bool same_name(int a, int b) const;
  /// Whether only the block `next` reads a block's output, and nothing outside reads its inner values.
  bool leads_only_to(int scope, int next) const;
  int producer(node const& n, int input) const { return graph_.tensors[graph_.input(n, input)].producer; }

  graph_view graph_;
  std::vector<range> ranges_;      // per scope
  std::vector<int> count_, last_;  // per scope
  std::vector<int> same_;          // per node: the corresponding one of the first block, or itself
};

}  // namespace dsl::text::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/repeated_blocks_inl.hpp>
#endif
