// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/core_team.hpp>
#include <dsl/executors/host/make_thread_team.hpp>

namespace dsl::host::TYPENET_MODE {

TYPENET_INLINE detail::owner<thread_team> make_thread_team(int devices, int cores_a_device, communicator* group) {
  return detail::owner<thread_team>(new core_team(devices, cores_a_device, group));
}

}  // namespace dsl::host::TYPENET_MODE
