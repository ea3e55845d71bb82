// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/detail/owner.hpp>

namespace dsl::TYPENET_MODE {
class communicator;
}  // namespace dsl::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// The threads of a network on several devices, one thread per device. This is an interface, so that an engine for one
/// device need not compile the code for threads; executors/host/core_team.hpp implements it.
class thread_team {
 public:
  virtual ~thread_team() = default;

  /// Calls step(context, i) for each step i of a plan. The steps of a device are called on the device's thread, in the
  /// plan's order, and each only after the steps that it waits for. If a thread throws, the other threads stop, and
  /// run() throws the first exception. After a failure in training, every further run throws executor_error.
  virtual void run(plan const& p, void (*step)(void* context, int i), void* context) = 0;
  /// Calls work(context) on each thread.
  virtual void on_each(void (*work)(void* context), void* context) = 0;
};

}  // namespace dsl::host::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Makes the threads of a network on several devices, each with `cores_a_device` processor cores:
/// &dsl::host::make_thread_team. If a thread fails, it calls give_up() of `group`.
using thread_team_maker = detail::owner<host::thread_team> (*)(int devices, int cores_a_device, communicator* group);

}  // namespace dsl::TYPENET_MODE
