// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/batch_part.hpp>
#include <dsl/placement/parts.hpp>

namespace dsl {

/// The rules by which a batch is split among towers, and the towers' means and variances in batch_norm are merged.
/// Gradients are always summed in the order of the towers, unless the devices sum them directly, in an order that they
/// choose.
struct tower_policy {
  bool even = false;  // sizes differ by at most one, larger parts first; otherwise the last part takes the rest
  tower_moments moments = tower_moments::in_turn;
  friend constexpr bool operator==(tower_policy const&, tower_policy const&) = default;
};

/// The policy of Keras's multi_gpu_model. 10 samples are split among 4 towers as 2, 2, 2, 4. The running means and
/// variances of batch_norm are updated with those of one tower after the other, in the order of the towers.
inline constexpr tower_policy host_merge{};
/// The policy of TensorFlow's MirroredStrategy. 10 samples are split among 4 towers as 3, 3, 2, 2. The running means
/// and variances of batch_norm are averaged over the towers.
inline constexpr tower_policy all_reduce{.even = true, .moments = tower_moments::averaged};
/// Returns the policy, changed so that batch_norm uses the means and variances of the whole batch. Any number of towers
/// then trains like one device.
constexpr tower_policy synchronized(tower_policy p) {
  p.moments = tower_moments::synchronized;
  return p;
}

/// Returns the part of a batch that tower `index` gets. The part may be empty.
constexpr batch_part part_of(int batch, int towers, int index, tower_policy const& policy) {
  int const each = batch / towers, rest = batch % towers;
  if (policy.even) return {each + (index < rest), each * index + (index < rest ? index : rest), batch};
  return {index == towers - 1 ? batch - each * index : each, each * index, batch};
}

}  // namespace dsl

namespace dsl::detail {

/// Whether batch_norm normalises each tower's part of a batch with the mean and variance of that part, which are of
/// little use if the part is a single sample.
constexpr bool normalises_parts(graph_view const& g, tower_policy const& p) {
  return p.moments != tower_moments::synchronized && has_batch_norm(g);
}

}  // namespace dsl::detail
