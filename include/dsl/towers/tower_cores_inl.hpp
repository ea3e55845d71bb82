// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/tower_cores.hpp>
#include <dsl/towers/towers.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Returns a number of devices by their names: "device 0", "devices 0 and 1", "devices 0 to 3".
inline std::string first_devices(int count) {
  if (count == 1) return "device 0";
  return message({"devices 0 ", count == 2 ? "and " : "to ", count - 1});
}

TYPENET_INLINE std::string devices_there(int devices, int each, int cores) {
  std::string found = message({"only ", first_devices(devices), devices == 1 ? " exists" : " exist"});
  if (each == 0) return found;
  return message(
      {found, devices == 1 ? ", with " : ", each with ", each, " of the machine's ", counted(cores, "core")});
}

TYPENET_INLINE void require_devices(towers const& t, int devices, int each, int cores) {
  int const given = static_cast<int>(t.devices.size());
  char const* const whose = t.processes ? "this process's " : "";
  if (given == 0 && devices > 0 && t.count > devices)
    throw option_error(
        message({"towers: ", whose, counted(t.count, "tower"), " need ", first_devices(t.count), "; ",
                 devices_there(devices, 0, 0), "; use ", counted(devices, "tower"), devices == 1 ? "" : " or fewer"}));
  for (int i = 0; i < given; ++i) {
    int const device = t.devices[static_cast<std::size_t>(i)];
    if (device < 0)
      throw option_error(message({"towers: ", whose, "tower ", i, " should be on device ", device, "; use 0 or more"}));
    if (devices > 0 && device >= devices)
      throw option_error(message({"towers: ", whose, "tower ", i, " should be on device ", device, "; ",
                                  devices_there(devices, each, cores), "; choose among them",
                                  each > 1 ? ", or use fewer threads" : ""}));
    for (int j = 0; j < i; ++j)
      if (t.devices[static_cast<std::size_t>(j)] == device)
        throw option_error(
            message({"towers: device ", device, " is in the list twice; give each tower its own device"}));
  }
}

TYPENET_INLINE list<core_set> cores_of(tower_factory const& factory, towers const& t) {
  int const given = static_cast<int>(t.devices.size());
  core_set const all = core_set::available();
  int const cores = all.cores.size();
  int const each = factory.cores_a_tower;
  constexpr int most = 65536;  // each tower has a thread
  if (t.count < 1) throw option_error(message({"towers: there must be 1 or more; found ", t.count}));
  if (t.count > most) throw option_error(message({"towers: there can't be more than ", most, "; found ", t.count}));
  if (given > 0 && given != t.count)
    throw option_error(
        message({"towers: ", counted(t.count, "tower"), t.count == 1 ? " needs " : " need ", counted(t.count, "device"),
                 "; found ", given, " in the list; list ", t.count, " or use ", counted(given, "tower")}));
  if (each > cores && given > 0 && cores > 0)
    throw option_error(message({"towers: each needs ", each, " cores; there are ", cores, "; use fewer threads"}));
  require_devices(t, each > 0 && given > 0 ? cores / each : factory.devices, each, cores);
  list<core_set> seats(t.count);
  for (int i = 0; i < t.count; ++i) {
    int const device = given > 0 ? t.devices[static_cast<std::size_t>(i)] : i;
    // Towers are not pinned if some cores stay free, since another program would choose the same cores, nor if there
    // are too few cores for each tower to have its own.
    if (each > 0 && (given > 0 || each * t.count == all.cores.size())) seats[i] = all.slice(each * device, each);
  }
  return seats;
}

}  // namespace dsl::detail::TYPENET_MODE
