// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// Whether any layer computes means and variances over a batch.
constexpr bool has_batch_norm(graph_view const& g) {
  for (int n = 0; n < g.size.nodes; ++n)
    if (facts_of(g.nodes[n]).mixes_samples) return true;
  return false;
}

/// Returns the number of samples in the smallest part of a batch. This is 1 for 5 samples in 4 micro-batches, and 3 for
/// 3 samples in 4 micro-batches, since a batch with fewer samples than micro-batches is not split. The mean and
/// variance of a single sample are of little use.
constexpr int smallest_micro_batch(int batch, int micro_batches) {
  return micro_batch(batch, micro_batches_of({.batch = batch, .micro_batches = micro_batches}), 0).size;
}

}  // namespace dsl::detail
