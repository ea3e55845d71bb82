// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// Whether any operation takes moments of its batch.
constexpr bool has_batch_norm(graph_view const& g) {
  for (int n = 0; n < g.size.nodes; ++n)
    if (facts_of(g.nodes[n]).mixes_samples) return true;
  return false;
}

/// Samples of the smallest part that a batch is cut into: 1 of 5 in 4 micro-batches, 3 of 3 in 4. Moments of a single
/// one say little.
constexpr int smallest_micro_batch(int batch, int micro_batches) {
  return micro_batch(batch, micro_batches_of({.batch = batch, .micro_batches = micro_batches}), 0).size;
}

}  // namespace dsl::detail
