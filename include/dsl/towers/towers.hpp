// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/tower_device.hpp>
#include <dsl/towers/policy.hpp>
#include <dsl/towers/process_group.hpp>

#include <memory>
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

namespace dsl::detail::TYPENET_MODE {

/// Makes an engine for each tower, for an executor whose type is no longer known.
struct tower_factory {
  void const* executor = nullptr;
  std::unique_ptr<engine> (*make)(void const* executor, tower_device const&, graph_view const&,
                                  engine_options const&) = nullptr;
  int devices = 0;        // number of devices; 0: unlimited
  int cores_a_tower = 0;  // cores of the host that make a device; 0: it computes elsewhere
};

/// Makes one engine that consists of an engine for each tower.
std::unique_ptr<engine> make_towers_engine(tower_factory const& factory, graph_view const& g, engine_options const& o,
                                           towers const& t);

}  // namespace dsl::detail::TYPENET_MODE
