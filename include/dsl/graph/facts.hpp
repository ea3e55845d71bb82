// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>
#include <dsl/operations/table.hpp>
#include <dsl/view.hpp>

namespace dsl {

/// Returns what is known of a node's operation: the row of its function, a user's own, or that of its kind.
constexpr operations::row const& facts_of(node const& n) {
  if (n.kind == op::activation) return operations::activations[static_cast<int>(n.function)];
  if (n.kind == op::custom) return n.custom->facts;
  if (n.kind == op::batch_norm && n.frozen) return operations::frozen_batch_norm;
  return operations::table[static_cast<int>(n.kind)];
}

namespace detail {

/// Returns the word of the language for what a node does: "conv2d", "tanh"; of a custom operation its own name.
constexpr char const* word_of(node const& n) {
  return n.kind == op::custom && n.custom ? n.custom->name : facts_of(n).name;
}

/// Returns the same with the options for which an executor may have no kernel: "conv2d with groups".
constexpr char const* kernel_word_of(node const& n) {
  return n.kind == op::conv2d && n.groups > 1 ? "conv2d with groups" : word_of(n);
}

}  // namespace detail
}  // namespace dsl
