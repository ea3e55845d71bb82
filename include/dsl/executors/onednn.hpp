// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/onednn/engine.hpp>
#include <dsl/towers/towers.hpp>

namespace dsl {

/// The CPU through oneDNN (2.6 or 3): link typenet::onednn.
struct onednn {
  int threads = 0;       // 0: all that OpenMP finds
  bool winograd = true;  // for 3x3 convolutions where the library has it; false: direct ones, exact to rounding

  static constexpr dsl::target compile_time_target{.channel_block = 16, .library_writes_slices = true};
  /// How this processor wants its tensors.
  static dsl::target target() { return {.channel_block = dnn::preferred_block(), .library_writes_slices = true}; }

  /// Towers share the threads out among them; each has at least one.
  onednn for_tower(detail::tower_place const& at) const {
    onednn mine = *this;
    mine.threads = threads < 0 ? threads : cores_a_tower(at.towers);  // that it can't be is the engine's to say
    return mine;
  }
  int cores_a_tower(int towers) const {
    int const all = threads != 0 ? threads : omp_get_max_threads();
    return all > 0 && towers > 0 && all > towers ? all / towers : 1;
  }

  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const {
    return std::unique_ptr<engine>(new dnn::engine(g, o, target(), {threads, winograd}));
  }
};

}  // namespace dsl
