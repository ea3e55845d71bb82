// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/network.hpp>

#include <cstddef>
#include <vector>

namespace dsl::text::TYPENET_MODE {

/// Finds consecutive equal blocks. A block is a layer with several operations that read only each other and the output
/// of the previous block; equal blocks have the same parent, structure, attributes and shapes. A diagram shows the
/// first block in place of all. A network with layers on several devices has no such blocks.
class repeated_blocks {
 public:
  explicit repeated_blocks(graph_view const& g);

  /// Returns how many equal blocks are drawn as this scope: usually 1, and 0 for a block in whose place an earlier one
  /// is drawn.
  int count(int scope) const { return count_[at(scope)]; }
  /// Returns the last of the equal blocks that are drawn as this scope, usually the scope itself.
  int last(int scope) const { return last_[at(scope)]; }
  /// Returns the node that is drawn in place of `node`, usually `node` itself.
  int shown(int node) const;

 private:
  struct range {
    int first = 0, end = 0;  // nodes
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void find_in(std::vector<int> const& layers);
  /// Whether a block has several operations that read only each other and the output of the operation before them.
  bool stands_alone(int scope) const;
  /// Whether two blocks that stand alone compute the same function and have parts of the same names.
  bool equal(int a, int b) const;
  bool same_name(int a, int b) const;
  /// Whether the output of block `scope` is read only by the block `next`, and its inner values are read only inside
  /// it.
  bool leads_only_to(int scope, int next) const;
  int producer(node const& n, int input) const { return graph_.tensors[graph_.input(n, input)].producer; }

  graph_view graph_;
  std::vector<range> ranges_;      // per scope
  std::vector<int> count_, last_;  // per scope
  std::vector<int> same_;          // per node: the corresponding one of the first block, or itself
};

}  // namespace dsl::text::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/repeated_blocks_inl.hpp>
#endif
