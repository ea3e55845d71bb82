// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/towers/host_tower.hpp>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE owner<host::tower<float>> host_communicator::make_tower(graph_view const& g, engine_options const& o,
                                                                       plan const& layout, float) {
  return owner<host::tower<float>>(new host_tower<float>(*this, g, o, layout));
}

TYPENET_INLINE owner<host::tower<double>> host_communicator::make_tower(graph_view const& g, engine_options const& o,
                                                                        plan const& layout, double) {
  return owner<host::tower<double>>(new host_tower<double>(*this, g, o, layout));
}

}  // namespace dsl::detail::TYPENET_MODE
