// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/thread_team.hpp>

namespace dsl::host::TYPENET_MODE {

/// Makes the threads of a network on several devices: a core_team.
detail::owner<thread_team> make_thread_team(int devices, int cores_a_device, communicator* group);

}  // namespace dsl::host::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/host/make_thread_team_inl.hpp>
#endif
