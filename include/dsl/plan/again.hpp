// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// Whether the backward pass may compute a node's output a second time. It may not do so for inputs and transfers, nor
/// for a custom operation, which need not give the same bits twice.
constexpr bool may_run_again(node const& x) {
  return x.kind != op::input && x.kind != op::transfer && x.kind != op::custom;
}

/// Adds a second buffer for each buffer of micro-batch m that holds only tensors of `again`, which the backward pass
/// computes a second time. Whole buffers are chosen rather than tensors, since slices of a concat and results that
/// overwrite their input have no separate memory.
constexpr void place_again(graph_view const& g, list<bool> const& again, plan& p, int m) {
  if (p.options.mode != mode::training) return;
  placement const* const at = p.activations.begin() + m * g.size.tensors;
  list<bool> kept(p.buffers.size());
  for (int t = 0; t < g.size.tensors; ++t)
    if (at[t].buffer >= 0 && (!again[t] || !may_run_again(g.nodes[g.tensors[t].producer]))) kept[at[t].buffer] = true;
  while (p.again.size() < kept.size()) p.again.push(-1);
  for (int t = 0; t < g.size.tensors; ++t) {
    int const b = at[t].buffer;
    if (b >= 0 && !kept[b] && p.again[b] < 0) p.again[b] = p.buffers.push(p.buffers[b]);
  }
}

}  // namespace dsl::detail
