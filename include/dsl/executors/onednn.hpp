// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_ONEDNN)
#error "onednn: <dsl/executors/onednn.hpp> needs oneDNN; link typenet::onednn or typenet::compiled_onednn"
#endif

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/tower_device.hpp>
#include <dsl/graph/operation_set.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

/// The executor for the CPU that uses oneDNN (version 2.6 or 3). Link typenet::onednn.
struct onednn {
  int threads = 0;       // 0: as many as OpenMP provides
  bool winograd = true;  // for 3x3 convolutions that the library supports; false: direct ones, exact to rounding

  static constexpr bool keeps_memory_budgets = true;
  static constexpr dsl::target compile_time_target{.channel_block = 16, .library_writes_slices = true};
  /// Returns this processor's preferred memory layout.
  static dsl::target target();

  /// Returns the number of threads that each of `towers` towers gets, at least one. Throws option_error if all towers
  /// together would have more threads than one engine may have.
  int cores_a_tower(int towers) const;
  onednn for_tower(detail::tower_device const& at) const;

  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;
#ifndef TYPENET_COMPILED
  /// Makes an engine for networks of some operations only, without the code for the others.
  template <operation_set Only>
  std::unique_ptr<engine> make_engine_for(graph_view const& g, engine_options const& o) const;
#endif

 private:
  int share_of(int towers) const;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/onednn_inl.hpp>
#endif
