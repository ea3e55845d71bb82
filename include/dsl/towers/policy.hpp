// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/batch_part.hpp>
#include <dsl/placement/parts.hpp>

namespace dsl {

/// How a batch is split, and how the towers' moments are merged. Gradients are always summed in tower order or, if the
/// devices sum among themselves, in an order of their own.
struct tower_policy {
  bool even = false;  // sizes differ by at most one, larger parts first; otherwise the last part takes the rest
  tower_moments moments = tower_moments::in_turn;
  friend constexpr bool operator==(tower_policy const&, tower_policy const&) = default;
};

/// The policy of Keras's multi_gpu_model: 10 samples over 4 towers are 2, 2, 2, 4, and batch_norm's running moments are
/// updated with each tower's moments in tower order.
inline constexpr tower_policy host_merge{};
/// The policy of TensorFlow's MirroredStrategy: 10 over 4 are 3, 3, 2, 2, and running moments are averaged over the
/// towers.
inline constexpr tower_policy all_reduce{.even = true, .moments = tower_moments::averaged};
/// Returns the policy with moments over the whole batch: any number of towers then trains like one device.
constexpr tower_policy synchronized(tower_policy p) {
  p.moments = tower_moments::synchronized;
  return p;
}

/// Returns tower `index`'s part of a batch, which may be empty.
constexpr batch_part part_of(int batch, int towers, int index, tower_policy const& policy) {
  int const each = batch / towers, rest = batch % towers;
  if (policy.even) return {each + (index < rest), each * index + (index < rest ? index : rest), batch};
  return {index == towers - 1 ? batch - each * index : each, each * index, batch};
}

}  // namespace dsl

namespace dsl::detail {

/// Whether each tower normalises its part of a batch with moments of its own, which are of little use for one sample.
constexpr bool normalises_parts(graph_view const& g, tower_policy const& p) {
  return p.moments != tower_moments::synchronized && has_batch_norm(g);
}

}  // namespace dsl::detail
