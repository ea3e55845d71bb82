// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/detail/owner.hpp>

namespace dsl::TYPENET_MODE {
class communicator;
}  // namespace dsl::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// The threads of a network on several devices, one a device. An interface, so that engines for one device don't
/// compile threads: executors/host/core_crew.hpp has them.
class crew {
 public:
  virtual ~crew() = default;

  /// Calls step(context, i) for each step i of a plan: each device's on its own thread and in the plan's order, as soon
  /// as the steps that it waits for are done. Throws what the first one threw; the others end, too. From a training's
  /// failure on there is an executor_error.
  virtual void run(plan const& p, void (*step)(void* context, int i), void* context) = 0;
  /// Calls work(context) on each thread.
  virtual void on_each(void (*work)(void* context), void* context) = 0;
};

}  // namespace dsl::host::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Makes the threads of a network on several devices, each with so many processor cores: &dsl::host::make_crew. Where
/// one fails the group hears of it.
using crew_maker = detail::owner<host::crew> (*)(int devices, int cores_a_device, communicator* group);

}  // namespace dsl::TYPENET_MODE
