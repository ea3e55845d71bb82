// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/api.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

// Times the launches of a recorded graph one by one. It calls the runtime directly, since the executor does not use
// these calls.
namespace dsl::bench {

/// The cost of one launch of a step.
struct launch_cost {
  int nodes = 0;        // number of nodes in the graph: kernels or copies
  double alone_us = 0;  // microseconds if it is repeated alone, with everything that it reads in the cache
  double saves_us = 0;  // microseconds that the step takes less without it; about 0 if another queue takes longer
};

/// A copy of the graph that was recorded last, and the range of nodes of each launch in it.
class recorded_graph {
 public:
  /// The functions that watched_calls calls: keep() with each recorded graph, and mark() after each launch of a
  /// recording.
  static void keep(cudaGraph_t graph) {
    if (one().copy) ::cudaGraphDestroy(std::exchange(one().copy, nullptr));
    require(::cudaGraphClone(&one().copy, graph));
    one().nodes.clear();
    for (cudaGraphNode_t n : nodes_of(graph)) {
      cudaGraphNode_t mine = nullptr;
      require(::cudaGraphNodeFindInClone(&mine, n, one().copy));
      one().nodes.push_back(mine);
    }
    one().ends = std::exchange(one().marks, {});
  }
  static void mark(cudaStream_t recording) {
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    cudaGraph_t graph = nullptr;
    require(::cudaStreamGetCaptureInfo(recording, &status, &id, &graph, nullptr, nullptr, nullptr));
    if (std::exchange(one().id, id) != id) one().marks.clear();
    one().marks.push_back(graph ? nodes_of(graph).size() : 0);
  }

  /// Returns the cost of each launch. The stream must be idle. The results of the graph's step are lost.
  static std::vector<launch_cost> costs(cudaStream_t s, int launches) {
    recorded_graph const& g = one();
    double const whole = microseconds(g.copy, s, launches);
    std::vector<launch_cost> found;
    std::size_t begin = 0;
    for (std::size_t const end : g.ends) {
      launch_cost c{.nodes = static_cast<int>(end - begin)};
      if (c.nodes > 0) {
        cudaGraph_t const alone = only(begin, end);
        cudaGraph_t many = nullptr;
        require(::cudaGraphCreate(&many, 0));
        constexpr int copies = 20;
        cudaGraphNode_t last = nullptr;
        for (int i = 0; i < copies; ++i) {
          cudaGraphNode_t next = nullptr;
          require(::cudaGraphAddChildGraphNode(&next, many, last ? &last : nullptr, last ? 1 : 0, alone));
          last = next;
        }
        c.alone_us = microseconds(many, s, 5) / copies;
        require(::cudaGraphDestroy(many));
        require(::cudaGraphDestroy(alone));
        cudaGraph_t const rest = without(begin, end);
        c.saves_us = whole - microseconds(rest, s, launches);
        require(::cudaGraphDestroy(rest));
      }
      found.push_back(c);
      begin = end;
    }
    return found;
  }

 private:
  static recorded_graph& one() {
    static recorded_graph g;
    return g;
  }
  static void require(cudaError_t e) {
    if (e != cudaSuccess) throw executor_error(std::string("cuda_step: ") + ::cudaGetErrorString(e));
  }
  static std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
    std::size_t count = 0;
    require(::cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) require(::cudaGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
  }
  static std::vector<cudaGraphNode_t> neighbours(cudaGraphNode_t n, bool behind) {
    auto const get = [&](cudaGraphNode_t* to, cudaGraphEdgeData* edges, std::size_t* count) {
      require(behind ? ::cudaGraphNodeGetDependentNodes(n, to, edges, count)
                     : ::cudaGraphNodeGetDependencies(n, to, edges, count));
    };
    std::size_t count = 0;
    get(nullptr, nullptr, &count);
    std::vector<cudaGraphNode_t> found(count);
    std::vector<cudaGraphEdgeData> edges(count);
    if (count > 0) get(found.data(), edges.data(), &count);
    return found;
  }
  /// Return a copy of the graph that has only these nodes, or all others. Nodes that depended on a removed node then
  /// depend on the nodes before it.
  static cudaGraph_t only(std::size_t begin, std::size_t end) {
    return copy_without([&](std::size_t i) { return i < begin || i >= end; });
  }
  static cudaGraph_t without(std::size_t begin, std::size_t end) {
    return copy_without([&](std::size_t i) { return i >= begin && i < end; });
  }
  template <class Removed>
  static cudaGraph_t copy_without(Removed removed) {
    cudaGraph_t copy = nullptr;
    require(::cudaGraphClone(&copy, one().copy));
    for (std::size_t i = 0; i < one().nodes.size(); ++i) {
      if (!removed(i)) continue;
      cudaGraphNode_t n = nullptr;
      require(::cudaGraphNodeFindInClone(&n, one().nodes[i], copy));
      std::vector<cudaGraphNode_t> const behind = neighbours(n, true);
      for (cudaGraphNode_t before : neighbours(n, false)) {
        std::vector<cudaGraphNode_t> const already = neighbours(before, true);
        for (cudaGraphNode_t after : behind)
          if (std::find(already.begin(), already.end(), after) == already.end())
            require(::cudaGraphAddDependencies(copy, &before, &after, nullptr, 1));
      }
      require(::cudaGraphDestroyNode(n));
    }
    return copy;
  }
  /// Returns the microseconds of a launch: the least of three means.
  static double microseconds(cudaGraph_t graph, cudaStream_t s, int launches) {
    cudaGraphExec_t exec = nullptr;
    require(::cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
    cudaEvent_t before = nullptr, behind = nullptr;
    require(::cudaEventCreate(&before)), require(::cudaEventCreate(&behind));
    require(::cudaGraphLaunch(exec, s));
    double best = 0;
    for (int round = 0; round < 3; ++round) {
      require(::cudaEventRecord(before, s));
      for (int i = 0; i < launches; ++i) require(::cudaGraphLaunch(exec, s));
      require(::cudaEventRecord(behind, s));
      require(::cudaStreamSynchronize(s));
      float ms = 0;
      require(::cudaEventElapsedTime(&ms, before, behind));
      double const us = 1e3 * static_cast<double>(ms) / launches;
      best = round == 0 ? us : std::min(best, us);
    }
    ::cudaEventDestroy(before), ::cudaEventDestroy(behind);
    require(::cudaGraphExecDestroy(exec));
    return best;
  }

  cudaGraph_t copy = nullptr;
  std::vector<cudaGraphNode_t> nodes{};  // nodes of the copy, in the order of the recording
  unsigned long long id = 0;             // id of the recording in progress
  std::vector<std::size_t> marks{};      // the number of its nodes after each launch
  std::vector<std::size_t> ends{};       // for each launch, the index after that of its last node
};

}  // namespace dsl::bench
