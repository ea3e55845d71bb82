// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/native/engine.hpp>
#include <dsl/executors/tower_place.hpp>

#include <memory>

namespace dsl {

using host::instructions;

/// The CPU through typenet's own kernels; needs no library. The same bits for any number of threads.
struct native {
  int threads = 0;  // 0: one for each processor that this process may use and its control group pays for
  dsl::instructions instructions = dsl::instructions::automatic;  // automatic: the widest here; others give its bits
  bool winograd = true;  // F(4x4, 3x3) for 3x3 convolutions of stride 1; false: direct ones alone

  static constexpr dsl::target compile_time_target{.channel_block = 16, .library_writes_slices = true};
  /// How this processor wants its tensors.
  dsl::target target() const { return target_of(cpu::resolve(instructions)); }

  /// Towers share the threads out among them; each has at least one. Throws option_error for more threads, of all
  /// towers together, than one engine may have.
  int cores_a_tower(int towers) const {
    cpu::require_threads(threads);
    return share_of(towers);
  }
  native for_tower(detail::tower_place const& at) const {
    native mine = *this;
    mine.threads = share_of(at.towers);
    return mine;
  }

  [[gnu::cold]] std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const {
    cpu::require_threads(threads);
    auto const set = cpu::resolve(instructions);
    return std::unique_ptr<engine>(new cpu::engine(g, o, target_of(set), {set, threads, winograd}));
  }

 private:
  static dsl::target target_of(dsl::instructions set) {
    return {.channel_block = host::lanes_of(set), .library_writes_slices = true};
  }
  int share_of(int towers) const {
    int const all = cpu::engine_settings{.threads = threads}.all_threads();
    return towers > 0 && all > towers ? all / towers : 1;
  }
};

}  // namespace dsl
