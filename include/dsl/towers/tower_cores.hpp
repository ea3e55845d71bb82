// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/towers/towers.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Returns the part of a message that names the available devices, and what to do. `each` is the number of cores of a
/// device, or 0 if devices are not cores.
std::string devices_there(int devices, int each, int cores);
/// Throws option_error if there are not enough devices for the towers. `devices` is 0 if their number is not limited.
void require_devices(towers const& t, int devices, int each, int cores);
/// Returns the cores on which each tower's thread runs. Throws option_error if there are not enough cores for the
/// towers.
list<core_set> cores_of(tower_factory const& factory, towers const& t);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/tower_cores_inl.hpp>
#endif
