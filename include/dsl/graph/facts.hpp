// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>
#include <dsl/operations/table.hpp>
#include <dsl/view.hpp>

namespace dsl {

/// Returns the facts about a node's operation. For an activation or a custom operation, they are those of its function
/// or of its type.
constexpr operations::row const& facts_of(node const& n) {
  if (n.kind == op::activation) return operations::activations[static_cast<int>(n.function)];
  if (n.kind == op::custom) return n.custom->facts;
  if (n.kind == op::batch_norm && n.frozen) return operations::frozen_batch_norm;
  return operations::table[static_cast<int>(n.kind)];
}

namespace detail {

/// Returns the name of a node's operation in the language, "conv2d" or "tanh", or a custom operation's own name.
constexpr char const* word_of(node const& n) {
  return n.kind == op::custom && n.custom ? n.custom->name : facts_of(n).name;
}

/// Returns word_of(n) with the options for which an executor may lack a kernel: "conv2d with groups".
constexpr char const* kernel_word_of(node const& n) {
  return n.kind == op::conv2d && n.groups > 1 ? "conv2d with groups" : word_of(n);
}

}  // namespace detail
}  // namespace dsl
