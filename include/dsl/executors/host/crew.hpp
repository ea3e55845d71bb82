// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {
struct plan;
}

namespace dsl::host {

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

}  // namespace dsl::host
