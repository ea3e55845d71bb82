// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/tower_place.hpp>
#include <dsl/towers/towers.hpp>

#include <memory>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// An executor without its type: makes an engine for each tower.
struct tower_factory {
  void const* executor = nullptr;
  std::unique_ptr<engine> (*make)(void const* executor, tower_place const&, graph_view const&,
                                  engine_options const&) = nullptr;
  int devices = 0;        // that there are; 0: as many as anyone asks for
  int cores_a_tower = 0;  // of the host's processor, which then are the devices; 0: it computes elsewhere
};

/// "1 tower", "2 towers"
[[gnu::cold]] inline std::string of_towers(int count) { return message({count, count == 1 ? " tower" : " towers"}); }
/// What there is and what to do. `each`: cores of a device, where devices are cores; else 0.
[[gnu::cold]] std::string devices_there(int devices, int each, int cores);
/// Throws option_error for towers that can't be on so many devices; 0: nobody knows how many there are.
[[gnu::cold]] void require_devices(towers const& t, int devices, int each, int cores);
/// Where each tower's thread runs. Throws option_error for towers that can't be.
[[gnu::cold]] list<core_set> places_of(tower_factory const& factory, towers const& t);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/places_inl.hpp>
#endif
