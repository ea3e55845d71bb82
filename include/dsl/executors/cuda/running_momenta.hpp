// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/arena.hpp>
#include <dsl/executors/engine.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Holds the share of each running moment that a step keeps, as floats on the device, in the layout of the running
/// moments.
class running_momenta {
 public:
  running_momenta(api const& a, arena const& all, graph_view const& g, engine_options const& o, cudaStream_t s)
      : memory_(a, 4 * all.statistics_count(), s) {
    std::vector<float> keep(static_cast<std::size_t>(all.statistics_count()));
    if (keep.empty()) return;
    for (int k = 0; k < g.size.parameters; ++k) {
      parameter const& p = g.parameters[k];
      if (!p.is_statistic() || p.frozen) continue;
      double const momentum = o.batch_norm_momentum >= 0 ? o.batch_norm_momentum : g.nodes[p.node].momentum;
      std::fill_n(keep.begin() + all.offset_of(k), p.count(), static_cast<float>(momentum));
    }
    a(a.cudaMemcpyAsync, memory_.data(), keep.data(), 4 * keep.size(), cudaMemcpyHostToDevice, s);
    a(a.cudaStreamSynchronize, s);
  }
  std::byte* data() const { return memory_.data(); }
  long long bytes() const { return memory_.bytes(); }

 private:
  device_memory memory_;
};

}  // namespace dsl::cu::TYPENET_MODE
