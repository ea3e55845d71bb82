// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/instructions.hpp>
#include <dsl/executors/tower_device.hpp>
#include <dsl/graph/operation_set.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

using host::instructions;

/// The executor for the CPU that uses typenet's own kernels and needs no library. Results have the same bits for any
/// number of threads.
struct native {
  int threads = 0;  // 0: one per processor that this process may use, within its control group's quota
  dsl::instructions instructions = dsl::instructions::automatic;  // automatic: the widest; each set rounds differently
  bool winograd = true;  // F(4x4, 3x3) for 3x3 convolutions of stride 1; false: direct convolutions only

  static constexpr bool keeps_memory_budgets = true;
  static constexpr dsl::target compile_time_target{.channel_block = 16, .library_writes_slices = true};
  /// Returns this processor's preferred memory layout.
  dsl::target target() const;

  /// Returns the number of threads that each of `towers` towers gets, at least one. Throws option_error if all towers
  /// together would have more threads than one engine may have.
  int cores_a_tower(int towers) const;
  native for_tower(detail::tower_device const& at) const;

  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;
#ifndef TYPENET_COMPILED
  /// Makes an engine for networks of some operations only, without the code for the others.
  template <operation_set Only>
  std::unique_ptr<engine> make_engine_for(graph_view const& g, engine_options const& o) const;
#endif

 private:
  static dsl::target target_of(dsl::instructions set);
  int share_of(int towers) const;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/native_inl.hpp>
#endif
