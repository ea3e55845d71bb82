// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/transfers.hpp>
#include <dsl/network.hpp>

namespace dsl::detail {

/// A sound network on several devices: the graph with transfers.
template <class Checked>
  requires(Checked::sizes.devices > 1 && Checked::why.holds())
struct with_transfers<Checked> {
  static constexpr graph_sizes sizes = sizes_with_transfers(Checked::result.graph.view());
  static constexpr auto graph = [] {
    dsl::graph<sizes> g = {};
    graph_view const from = Checked::result.graph.view();
    insert_transfers(from, g.nodes, g.edges, g.tensors, g.parameters);
    for (int s = 0; s < sizes.scopes; ++s) g.scopes[s] = from.scopes[s];
    return g;
  }();
  static constexpr graph_view view() { return graph.view(); }
};

}  // namespace dsl::detail
