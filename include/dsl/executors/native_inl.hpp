// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/native/engine.hpp>
#include <dsl/executors/tower_device.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dsl::target native::target() const { return target_of(native_cpu::resolve(instructions)); }

TYPENET_INLINE int native::cores_a_tower(int towers) const {
  native_cpu::require_threads(threads);
  return share_of(towers);
}

TYPENET_INLINE native native::for_tower(detail::tower_device const& at) const {
  native mine = *this;
  mine.threads = share_of(at.towers);
  return mine;
}

TYPENET_INLINE std::unique_ptr<engine> native::make_engine(graph_view const& g, engine_options const& o) const {
  native_cpu::require_threads(threads);
  auto const set = native_cpu::resolve(instructions);
  return std::unique_ptr<engine>(new native_cpu::engine(g, o, target_of(set), {set, threads, winograd}));
}

#ifndef TYPENET_COMPILED
template <operation_set Only>
std::unique_ptr<engine> native::make_engine_for(graph_view const& g, engine_options const& o) const {
  native_cpu::require_threads(threads);
  auto const set = native_cpu::resolve(instructions);
  return std::unique_ptr<engine>(
      new native_cpu::engine(g, o, target_of(set), {set, threads, winograd}, native_cpu::engine::code_of<Only>()));
}
#endif

TYPENET_INLINE dsl::target native::target_of(dsl::instructions set) {
  return {.channel_block = host::lanes_of(set), .library_writes_slices = true};
}

TYPENET_INLINE int native::share_of(int towers) const {
  int const all = native_cpu::engine_settings{.threads = threads}.all_threads();
  return towers > 0 && all > towers ? all / towers : 1;
}

}  // namespace dsl::TYPENET_MODE
