// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/io/weight_names.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE weight_layout::weight_layout(graph_view const& g, weight_convention c) : graph_(g), convention_(c) {
  if (c == weight_convention::torch) return;
  orders_.resize(static_cast<std::size_t>(g.size.tensors));
  for (int n = 0; n < g.size.nodes; ++n)
    orders_[static_cast<std::size_t>(g.nodes[n].output)] = order_behind(g.nodes[n]);
}

TYPENET_INLINE std::vector<std::uint64_t> weight_layout::shape(int k, bool depthwise) const {
  parameter const& p = graph_.parameters[k];
  std::vector<std::uint64_t> all;
  all.reserve(static_cast<std::size_t>(p.rank));
  for (int axis = 0; axis < p.rank; ++axis) all.push_back(static_cast<std::uint64_t>(p.axis(axis)));
  if (keras() && p.rank == 3 && p.role == role::gamma) all.resize(1);
  if (keras() && p.rank == 2 && !is_table(k)) all = {all[1], all[0]};
  if (keras() && p.rank == 4) all = {all[2], all[3], all[1], all[0]};
  bool const is_conv1d = p.rank == 3 && !is_by_channel(k);
  if (keras() && is_conv1d) all = {all[2], all[1], all[0]};
  if (keras() && depthwise && (p.rank == 4 || is_conv1d) && detail::is_depthwise(graph_, graph_.nodes[p.node])) {
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

TYPENET_INLINE void weight_layout::refuse(node const& n, char const* why) const {
  detail::throw_error<option_error>({"weights: ", detail::layer_place(graph_, n.scope), " ", why,
                                     "; these weights cannot be converted; use safetensors and PyTorch's names"});
}

TYPENET_INLINE weight_layout::order weight_layout::order_behind(node const& n) const {
  switch (n.kind) {
    case op::input:
    case op::embedding:
    case op::dense: return {};
    case op::conv2d:
      if (n.groups > 1 && !order_of(graph_.input(n)).empty())
        refuse(
            n,
            "comes after a flatten, so its groups consist of different channels in Keras, which flattens in the order "
            "height, width, channels");
      return {};
    case op::conv2d_transpose:
      if (!order_of(graph_.input(n)).empty()) refuse(n, behind_flatten);
      return {};
    case op::flatten: return flattened(n);
    case op::concat: return joined(n);
    case op::add:
      for (int i = 1; i < n.inputs; ++i)
        if (order_of(graph_.input(n, i)) != order_of(graph_.input(n))) refuse(n, mixed_orders);
      break;
    case op::attention:
    case op::causal_attention:
    case op::window_attention:
    case op::bounded_window_attention:
    case op::window_offsets:
    case op::head_norm:
    case op::merge_pixels:
    case op::class_token:
    case op::position_embedding:
    case op::token_slice:
    case op::transpose_tokens:
    case op::channel_slice:
    case op::channel_shuffle:
      if (!order_of(graph_.input(n)).empty()) refuse(n, behind_flatten);
      return {};
    case op::lstm:
    case op::gru: refuse(n, "has different biases from Keras's, and its gates are in a different order");
    case op::multiply: return broadcast_order(n);
    case op::custom:
      if (!order_of(graph_.input(n)).empty() && !(graph_.input_shape(n) == graph_.output_shape(n)))
        refuse(n, "changes the shape after a flatten, and the order in Keras is unknown");
      break;
    default: break;  // one number per channel, or one channel
  }
  return order_of(graph_.input(n));
}

TYPENET_INLINE weight_layout::order weight_layout::broadcast_order(node const& n) const {
  int const first = graph_.input(n), second = graph_.input(n, 1);
  if (graph_.shape_of(first).channels == 1) return order_of(second);
  if (graph_.shape_of(second).channels > 1 && order_of(first) != order_of(second)) refuse(n, mixed_orders);
  return order_of(first);
}

TYPENET_INLINE weight_layout::order weight_layout::flattened(node const& n) const {
  dsl::shape const& in = graph_.input_shape(n);
  order const& before = order_of(graph_.input(n));
  auto const pixels = static_cast<int>(in.area());
  if (pixels == 1) return before;
  order all(static_cast<std::size_t>(in.size()));
  std::size_t next = 0;
  for (int c = 0; c < in.channels; ++c)
    for (int p = 0; p < pixels; ++p) all[next++] = p * in.channels + at(before, c);
  return all;
}

TYPENET_INLINE weight_layout::order weight_layout::joined(node const& n) const {
  order all;
  bool moved = false;
  for (int i = 0, first = 0; i < n.inputs; ++i) {
    int const channels = graph_.input_shape(n, i).channels;
    order const& part = order_of(graph_.input(n, i));
    moved = moved || !part.empty();
    for (int c = 0; c < channels; ++c) all.push_back(first + at(part, c));
    first += channels;
  }
  return moved ? all : order{};
}

}  // namespace dsl::TYPENET_MODE
