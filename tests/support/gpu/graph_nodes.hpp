// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "support/gpu/watched_calls.hpp"

namespace dsl::test {

/// For watched_calls on a real device: counts a recorded graph's nodes, and those that run a kernel. It calls the
/// runtime directly, since the executor does not use these calls.
inline void count_graph_nodes(cudaGraph_t graph, watched_calls::recorded_step& to) {
  std::size_t count = 0;
  if (::cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess) return;
  std::vector<cudaGraphNode_t> nodes(count);
  if (::cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return;
  to.nodes = static_cast<long>(count);
  to.kernel_nodes = 0;
  for (cudaGraphNode_t n : nodes) {
    cudaGraphNodeType type{};
    if (::cudaGraphNodeGetType(n, &type) == cudaSuccess && type == cudaGraphNodeTypeKernel) ++to.kernel_nodes;
  }
}

}  // namespace dsl::test
