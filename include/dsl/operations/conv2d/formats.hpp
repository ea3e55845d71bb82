// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

/// Whether a convolution has one group per channel.
constexpr bool is_depthwise(graph_view const& g, node const& n) {
  return n.kind == op::conv2d && n.groups > 1 && n.groups == g.input_shape(n).channels;
}

inline char const* keras_convolution(graph_view const& g, node const& n) {
  int const rank = g.parameters[n.first_parameter].rank;
  if (rank == 2) return "dense";
  if (rank == 3) return is_depthwise(g, n) ? "depthwise_conv1d" : "conv1d";
  return is_depthwise(g, n) ? "depthwise_conv2d" : "conv2d";
}

inline keras_channels::order convolution_order(keras_channels const& all, node const& n) {
  if (n.groups > 1 && !all.of_input(n).empty()) all.refuse(n, keras_channels::grouped);
  return {};
}

template <>
inline constexpr row row_for<op::conv2d>{
    .shows_window = true, .keras_class_of = keras_convolution, .takes_activation = true, .order = convolution_order};

}  // namespace dsl::formats::TYPENET_MODE
