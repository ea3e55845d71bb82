// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/rules/broken_uses.hpp>

#include <memory>
#include <type_traits>

namespace dsl::detail::TYPENET_MODE {

/// Whether the executor `reference` can compute in the type T.
template <class T>
inline constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double>;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// An executor of plain loops, which needs no library. It is the oracle for all other executors, and their fallback. It
/// computes in the type T: float for dsl::reference{}, double for dsl::reference<double>{}.
template <class T = float>
struct reference {
  static_assert(sizeof(broken::reference_computes_in_floats<T, detail::is_float<T>>) != 0);
  static constexpr dsl::target target{
      .channel_block = 1, .alignment = 64, .element_bytes = sizeof(T), .state_bytes = sizeof(T)};
  static constexpr bool keeps_memory_budgets = true;
  static constexpr dsl::target compile_time_target = target;

  static int cores_a_tower(int) { return 1; }

  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;
#ifndef TYPENET_COMPILED
  /// Makes an engine for networks of some operations only, without the code for the others.
  template <operation_set Only>
  std::unique_ptr<engine> make_engine_for(graph_view const& g, engine_options const& o) const;
#endif
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_COMPILED
namespace dsl::TYPENET_MODE {
extern template struct reference<float>;
extern template struct reference<double>;
}  // namespace dsl::TYPENET_MODE
#endif
#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/reference_inl.hpp>
#endif
