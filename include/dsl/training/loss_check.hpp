// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::detail::TYPENET_MODE {

/// Returns the node whose values the loss of output number k uses. This is not a flatten at the end, which only renames
/// the values, nor a transfer, which only copies them.
constexpr node const& last_of(graph_view const& g, int k = 0) {
  node const* n = &g.nodes[output_node(g, k)];
  while (n->kind == op::flatten || n->kind == op::transfer) n = &g.nodes[g.tensors[g.input(*n)].producer];
  return *n;
}

/// Whether the numbers of output k are probabilities that sum to 1, as cross-entropy requires: it is -log of one of
/// them. With numbers that need not sum to 1, training would raise all of them, or have no effect if they are negative,
/// without an error. The outputs of a custom operation are not checked: its author must know whether they are
/// probabilities.
constexpr bool gives_probabilities(graph_view const& g, int k) {
  node const& last = last_of(g, k);
  shape const& out = g.output_shape(g.nodes[output_node(g, k)]);
  bool const of_pixels_in_a_row = last.kind == op::softmax && !(g.output_shape(last) == out);
  return facts_of(last).gives_probabilities && !of_pixels_in_a_row;  // a flattened softmax2d sums to its area
}

/// Whether each number of output k is an independent probability, as binary_crossentropy requires. The numbers of a
/// softmax are not independent: they sum to 1.
constexpr bool gives_shares(graph_view const& g, int k) {
  node const& last = last_of(g, k);
  if (last.kind == op::softmax) return false;
  return facts_of(last).gives_probabilities || (last.kind == op::activation && last.function == function::sigmoid);
}

/// Returns the number of the first output that does not suit the loss, or -1 if all outputs do.
constexpr int first_unsuitable(graph_view const& g, per_output<loss> const& l) {
  for (int k = 0; k < output_count(g); ++k)
    if ((l[k] == loss::categorical_crossentropy && !gives_probabilities(g, k)) ||
        (l[k] == loss::binary_crossentropy && !gives_shares(g, k)))
      return k;
  return -1;
}

void require_probabilities(graph_view const& g, per_output<loss> const& l);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/loss_check_inl.hpp>
#endif
