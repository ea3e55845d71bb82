// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/table.hpp>
#include <dsl/io/weight_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE weight_layout::weight_layout(graph_view const& g, weight_convention c)
    : graph_(g), convention_(c), channels_(g) {
  for (int n = 0; keras() && n < g.size.nodes; ++n)
    channels_.set_output(g.nodes[n], formats::row_of(g.nodes[n].kind).order(channels_, g.nodes[n]));
}

TYPENET_INLINE formats::axes weight_layout::axes_of(int k) const {
  parameter const& p = graph_.parameters[k];
  return p.role == role::kernel ? formats::row_of(graph_.nodes[p.node].kind).kernel_axes : formats::axes::each_channel;
}

TYPENET_INLINE std::vector<std::uint64_t> weight_layout::shape(int k, bool depthwise) const {
  parameter const& p = graph_.parameters[k];
  std::vector<std::uint64_t> all;
  all.reserve(static_cast<std::size_t>(p.rank));
  for (int axis = 0; axis < p.rank; ++axis) all.push_back(static_cast<std::uint64_t>(p.axis(axis)));
  if (keras() && p.rank == 3 && p.role == role::gamma) all.resize(1);
  if (keras() && p.rank == 2 && axes_of(k) != formats::axes::table) all = {all[1], all[0]};
  if (keras() && p.rank == 4) all = {all[2], all[3], all[1], all[0]};
  bool const is_conv1d = p.rank == 3 && axes_of(k) == formats::axes::kernel;
  if (keras() && is_conv1d) all = {all[2], all[1], all[0]};
  if (keras() && depthwise && (p.rank == 4 || is_conv1d) && formats::is_depthwise(graph_, graph_.nodes[p.node])) {
    auto const groups = static_cast<std::uint64_t>(graph_.nodes[p.node].groups);
    std::size_t const last = all.size() - 1;
    all[last] /= groups, all[last - 1] = groups;  // the memory order is the same
  }
  return all;
}

TYPENET_INLINE void weight_layout::from_ours(int k, float const* ours, float* theirs) const {
  for_each(k, [&](long long here, long long there) { theirs[there] = ours[here]; });
}

TYPENET_INLINE void weight_layout::to_ours(int k, float const* theirs, float* ours) const {
  for_each(k, [&](long long here, long long there) { ours[here] = theirs[there]; });
}

}  // namespace dsl::TYPENET_MODE
