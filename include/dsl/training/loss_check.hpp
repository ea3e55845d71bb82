// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/rules/broken.hpp>

#include <string>

namespace dsl::detail {

/// The node whose values the loss takes. A flatten after it only renames them, a transfer moves them.
constexpr node const& last_of(graph_view const& g) {
  node const* n = &g.nodes[g.size.nodes - 1];
  while (n->kind == op::flatten || n->kind == op::transfer) n = &g.nodes[g.tensors[g.input(*n)].producer];
  return *n;
}

/// Cross-entropy is -log of what it takes for a probability. Outputs that need not add up to 1 are none: training would
/// raise all of them, or stand still where they are below 0, and never say so. What a user's own operation gives is the
/// user's to know.
constexpr bool gives_probabilities(graph_view const& g) {
  op const last = last_of(g).kind;
  return last == op::softmax || last == op::custom;
}

[[gnu::cold]] inline void require_probabilities(graph_view const& g, loss l) {
  if (l != loss::categorical_crossentropy || gives_probabilities(g)) return;
  name const found = g.scopes[last_of(g).scope].name;
  refuse<option_error>({"loss: categorical_crossentropy takes probabilities, of a network that ends in softmax; found ",
                        std::string(found.data, static_cast<std::size_t>(found.size)),
                        " at its end; add softmax, or give compile() the loss mean_squared_error"});
}

}  // namespace dsl::detail
