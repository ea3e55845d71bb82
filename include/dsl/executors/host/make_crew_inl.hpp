// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/core_crew.hpp>
#include <dsl/executors/host/make_crew.hpp>

namespace dsl::host::TYPENET_MODE {

TYPENET_INLINE detail::owner<crew> make_crew(int devices, int cores_a_device, communicator* group) {
  return detail::owner<crew>(new core_crew(devices, cores_a_device, group));
}

}  // namespace dsl::host::TYPENET_MODE
