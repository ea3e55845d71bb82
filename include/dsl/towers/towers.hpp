// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/policy.hpp>
#include <dsl/towers/process_group.hpp>

#include <vector>

namespace dsl::TYPENET_MODE {

/// Devices that train a network together. Each device has all layers of the network and computes a part of every batch.
struct towers {
  int count = 1;  // towers in this process
  tower_policy policy = host_merge;
  std::vector<int> devices{};  // one per tower; empty: 0, 1, 2, ...
  /// The processes that take part, or null for one process. Each process has its own towers, and their number may
  /// differ; a batch is divided among the towers of all processes. The object must outlive the trainer.
  process_group* processes = nullptr;
};

}  // namespace dsl::TYPENET_MODE
