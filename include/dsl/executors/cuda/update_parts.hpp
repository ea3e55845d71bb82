// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/arena.hpp>
#include <dsl/executors/engine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The parts of a network whose updates have factors: those of scaled<...>, and 0 for constants of layers. A part
/// consists of all parameters with the same two factors. A network without factors has no parts.
class update_parts {
 public:
  update_parts(api const& a, arena const& all, graph_view const& g, cudaStream_t s)
      : map_(a, has_factors(g) ? 4 * map_size(all) : 0, s) {
    if (map_.bytes() == 0) return;
    std::vector<int> part_of(static_cast<std::size_t>(map_size(all)));
    for (int k = 0; k < g.size.parameters; ++k) {
      parameter const& p = g.parameters[k];
      if (!p.trainable()) continue;
      auto const begin = part_of.begin() + all.offset_of(k) / 16;
      std::fill(begin, begin + (p.count() + 15) / 16, number_of(p.factors));
    }
    a(a.cudaMemcpyAsync, map_.data(), part_of.data(), 4 * part_of.size(), cudaMemcpyHostToDevice, s);
    a(a.cudaStreamSynchronize, s);
  }

  /// Returns the number of parts, or 0 if no parameter has factors.
  int count() const { return static_cast<int>(parts_.size()); }
  /// Returns the number of a part for every 16 parameters, on the device; null if there are no parts.
  int const* map() const { return count() > 0 ? map_.as<int>() : nullptr; }
  long long bytes() const { return map_.bytes(); }

  /// Writes the numbers of each part for one step to `to`, rounded as host::update rounds them.
  void write(update_rule const& rule, double learning_rate, std::uint64_t step, kernels::part_rates* to) const {
    for (update_factors const& f : parts_) {
      update_rule own = rule;
      own.weight_decay *= f.weight_decay;
      update_numbers const now = own.at(learning_rate * f.learning_rate, step);
      *to++ = {static_cast<float>(now.rate), static_cast<float>(now.shrink),
               static_cast<float>(own.decoupled ? 0 : own.weight_decay)};
    }
  }

 private:
  static bool has_factors(graph_view const& g) {
    bool any = false;
    for (int k = 0; k < g.size.parameters; ++k)
      any = any || (g.parameters[k].trainable() && g.parameters[k].factors != update_factors{});
    return any;
  }
  static long long map_size(arena const& all) { return (all.count() + 15) / 16; }
  int number_of(update_factors const& f) {
    auto const found = std::find(parts_.begin(), parts_.end(), f);
    auto const number = static_cast<int>(found - parts_.begin());
    if (found == parts_.end()) parts_.push_back(f);
    return number;
  }

  std::vector<update_factors> parts_{};
  device_memory map_;
};

}  // namespace dsl::cu::TYPENET_MODE
