// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>
#include <dsl/operations/table.hpp>

#include <utility>

namespace dsl::formats::TYPENET_MODE {

inline keras_channels::order common_order(keras_channels const& all, node const& n) {
  for (int i = 1; i < n.inputs; ++i)
    if (all.of_input(n, i) != all.of_input(n)) all.refuse(n, keras_channels::mixed_orders);
  return all.of_input(n);
}

inline keras_channels::order joined_order(keras_channels const& all, node const& n) {
  keras_channels::order order;
  bool moved = false;
  for (int i = 0, first = 0; i < n.inputs; ++i) {
    int const channels = all.graph().input_shape(n, i).channels;
    keras_channels::order const& part = all.of_input(n, i);
    moved = moved || !part.empty();
    for (int c = 0; c < channels; ++c) order.push_back(first + keras_channels::at(part, c));
    first += channels;
  }
  return moved ? order : keras_channels::order{};
}

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

inline keras_channels::order own_order(keras_channels const& all, node const& n) {
  if (!all.of_input(n).empty() && !(all.graph().input_shape(n) == all.graph().output_shape(n)))
    all.refuse(n, "changes the shape after a flatten, and the order in Keras is unknown");
  return all.of_input(n);
}

/// Returns for each channel of a flat tensor, (channels, height, width) in typenet, its place in (height, width,
/// channels).
inline keras_channels::order flattened_order(keras_channels const& all, node const& n) {
  shape const& in = all.graph().input_shape(n);
  keras_channels::order const& before = all.of_input(n);
  auto const pixels = static_cast<int>(in.area());
  if (pixels == 1) return before;
  keras_channels::order order(static_cast<std::size_t>(in.size()));
  std::size_t next = 0;
  for (int c = 0; c < in.channels; ++c)
    for (int p = 0; p < pixels; ++p) order[next++] = p * in.channels + keras_channels::at(before, c);
  return order;
}

inline keras_channels::order order_of_groups(keras_channels const& all, node const& n) {
  if (n.groups > 1 && !all.of_input(n).empty()) all.refuse(n, keras_channels::grouped);
  return all.of_input(n);
}

/// Returns the order of the operand with channels; one with a single channel has none.
inline keras_channels::order broadcast_order(keras_channels const& all, node const& n) {
  keras_channels::order const &first = all.of_input(n), &second = all.of_input(n, 1);
  if (all.graph().input_shape(n).channels == 1) return second;
  if (all.graph().input_shape(n, 1).channels > 1 && first != second) all.refuse(n, keras_channels::mixed_orders);
  return first;
}

/// Returns the name of a parameter of PyTorch's nn.LSTM or nn.GRU.
inline char const* torch_recurrent_name(role r) {
  switch (r) {
    case role::kernel: return "weight_ih_l0";
    case role::recurrent_kernel: return "weight_hh_l0";
    case role::bias: return "bias_ih_l0";
    default: return "bias_hh_l0";
  }
}

[[noreturn]] inline keras_channels::order recurrent_order(keras_channels const& all, node const& n) {
  all.refuse(n, "has different biases from Keras's, and its gates are in a different order");
}

// The rows of the operations that need more than the defaults.
template <>
inline constexpr row row_for<op::activation>{.is_activation = true, .order = order_of_input};
template <>
inline constexpr row row_for<op::add>{.order = common_order};
template <>
inline constexpr row row_for<op::attention>{.parts = "heads"};
template <>
inline constexpr row row_for<op::causal_attention>{.parts = "heads"};
template <>
inline constexpr row row_for<op::batch_norm>{.keras_class = "batch_normalization", .order = order_of_input};
template <>
inline constexpr row row_for<op::bounded_window_attention>{.parts = "heads"};
template <>
inline constexpr row row_for<op::channel_scale>{
    .keras_class = "layer_scale", .order = order_of_input, .is_parameter = true};
template <>
inline constexpr row row_for<op::class_token>{
    .keras_class = "class_token", .kernel_axes = axes::each_channel, .is_parameter = true};
template <>
inline constexpr row row_for<op::concat>{.order = joined_order};
template <>
inline constexpr row row_for<op::conv2d>{
    .shows_window = true, .keras_class_of = keras_convolution, .takes_activation = true, .order = convolution_order};
template <>
inline constexpr row row_for<op::conv2d_transpose>{
    .shows_window = true, .keras_class = "conv2d_transpose", .takes_activation = true};
template <>
inline constexpr row row_for<op::custom>{.order = own_order};
template <>
inline constexpr row row_for<op::dense>{.keras_class = "dense", .takes_activation = true, .order = new_order};
template <>
inline constexpr row row_for<op::dropout>{.order = order_of_input};
template <>
inline constexpr row row_for<op::embedding>{.parts = "tokens",
                                            .keras_class = "embedding",
                                            .kernel_name = "embeddings",
                                            .kernel_axes = axes::table,
                                            .order = new_order};
template <>
inline constexpr row row_for<op::flatten>{.order = flattened_order};
template <>
inline constexpr row row_for<op::group_norm>{.keras_class = "group_normalization", .order = order_of_groups};
template <>
inline constexpr row row_for<op::head_norm>{.parts = "heads", .keras_class = "head_norm", .is_parameter = true};
template <>
inline constexpr row row_for<op::input>{.order = new_order};
template <>
inline constexpr row row_for<op::layer_norm>{.keras_class = "layer_normalization", .order = order_of_input};
template <>
inline constexpr row row_for<op::local_response_norm>{.parts = "neighbours"};
template <>
inline constexpr row row_for<op::multiply>{.order = broadcast_order};
template <>
inline constexpr row row_for<op::max_pool2d>{.shows_window = true, .order = order_of_input};
template <>
inline constexpr row row_for<op::avg_pool2d>{.shows_window = true, .order = order_of_input};
template <>
inline constexpr row row_for<op::position_embedding>{
    .keras_class = "position_embedding", .kernel_axes = axes::each_channel, .is_parameter = true};
template <>
inline constexpr row row_for<op::lstm>{
    .keras_class = "lstm", .order = recurrent_order, .torch_name = torch_recurrent_name};
template <>
inline constexpr row row_for<op::gru>{
    .keras_class = "gru", .order = recurrent_order, .torch_name = torch_recurrent_name};
template <>
inline constexpr row row_for<op::softmax>{.is_activation = true, .order = order_of_input};
template <>
inline constexpr row row_for<op::stochastic_depth>{.order = order_of_input};
template <>
inline constexpr row row_for<op::transfer>{.order = order_of_input};
template <>
inline constexpr row row_for<op::upsample_nearest>{.order = order_of_input};
template <>
inline constexpr row row_for<op::upsample_bilinear>{.order = order_of_input};
template <>
inline constexpr row row_for<op::window_attention>{.parts = "heads",
                                                   .shows_window = true,
                                                   .keras_class = "window_attention",
                                                   .kernel_axes = axes::table,
                                                   .is_parameter = true};
template <>
inline constexpr row row_for<op::zero_pad2d>{.order = order_of_input};

template <int... Kinds>
row const& row_in(std::integer_sequence<int, Kinds...>, op kind) {
  static constexpr row const* rows[] = {&row_for<static_cast<op>(Kinds)>...};
  return *rows[static_cast<int>(kind)];
}

/// Returns what files and diagrams say about an operation.
inline row const& row_of(op kind) { return row_in(std::make_integer_sequence<int, operations::count>{}, kind); }

}  // namespace dsl::formats::TYPENET_MODE
