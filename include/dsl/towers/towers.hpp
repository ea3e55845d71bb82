// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/policy.hpp>
#include <dsl/towers/process_group.hpp>

#include <vector>

namespace dsl::TYPENET_MODE {

/// A network on several devices, each with all of its layers and a part of every batch.
struct towers {
  int count = 1;  // in this process
  tower_policy policy = host_merge;
  std::vector<int> devices{};  // one a tower; empty: 0, 1, 2, ...
  /// With towers of their own, as many or not; batches are those of all together. It must outlive the trainer.
  process_group* processes = nullptr;
};

}  // namespace dsl::TYPENET_MODE
