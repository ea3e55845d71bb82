// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/batch_part.hpp>
#include <dsl/placement/parts.hpp>

namespace dsl {

/// How a batch is cut, and what becomes of the towers' moments. Gradients are summed alike whatever it is: in tower
/// order, or, where the devices do it among themselves, in an order of theirs.
struct tower_policy {
  bool even = false;  // parts that differ by one sample at most, larger ones first; else the last takes the rest
  tower_moments moments = tower_moments::in_turn;
  friend constexpr bool operator==(tower_policy const&, tower_policy const&) = default;
};

/// As Keras's multi_gpu_model: 10 samples over 4 towers are 2, 2, 2, 4; every tower's moments move batch_norm's running
/// ones, in tower order.
inline constexpr tower_policy host_merge{};
/// As TensorFlow's MirroredStrategy: 10 over 4 are 3, 3, 2, 2; batch_norm's running moments follow the towers' average.
inline constexpr tower_policy all_reduce{.even = true, .moments = tower_moments::averaged};
/// With batch_norm over the whole batch: any number of towers then trains as one device does.
constexpr tower_policy synchronized(tower_policy p) {
  p.moments = tower_moments::synchronized;
  return p;
}

/// Tower `index`'s part of a batch; it may be empty.
constexpr batch_part part_of(int batch, int towers, int index, tower_policy const& policy) {
  int const each = batch / towers, rest = batch % towers;
  if (policy.even) return {each + (index < rest), each * index + (index < rest ? index : rest), batch};
  return {index == towers - 1 ? batch - each * index : each, each * index, batch};
}

}  // namespace dsl

namespace dsl::detail {

/// Whether each tower's part of a batch is normalised with moments of its own, which of one sample say little.
constexpr bool normalises_parts(graph_view const& g, tower_policy const& p) {
  return p.moments != tower_moments::synchronized && has_batch_norm(g);
}

}  // namespace dsl::detail
