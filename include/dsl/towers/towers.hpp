// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/policy.hpp>
#include <dsl/towers/process_group.hpp>

#include <vector>

namespace dsl::TYPENET_MODE {

/// Devices that train a network together, each with all of its layers and a part of every batch.
struct towers {
  int count = 1;  // towers in this process
  tower_policy policy = host_merge;
  std::vector<int> devices{};  // one per tower; empty: 0, 1, 2, ...
  /// The processes that take part. Each has towers of its own, possibly a different number; a batch is divided among
  /// all of them. It must outlive the trainer.
  process_group* processes = nullptr;
};

}  // namespace dsl::TYPENET_MODE
