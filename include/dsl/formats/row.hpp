// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/keras_channels.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl::formats::TYPENET_MODE {

/// Returns the order of the channels of a node's output in Keras.
using output_order = keras_channels::order (*)(keras_channels const&, node const&);

/// The order of an operation that computes each channel in the same way, but for a number per channel: the input's.
inline keras_channels::order order_of_input(keras_channels const& all, node const& n) { return all.of_input(n); }
/// The order of an operation that needs the channels in typenet's order. It refuses another one.
inline keras_channels::order order_of_typenet(keras_channels const& all, node const& n) {
  if (!all.of_input(n).empty()) all.refuse(n, keras_channels::behind_flatten);
  return {};
}
/// The order of an operation whose parameters can have their inputs in any order: typenet's.
inline keras_channels::order new_order(keras_channels const&, node const&) { return {}; }

/// The axes of a parameter in Keras.
enum class axes : unsigned char {
  kernel,       // those of a convolution or a dense layer, in another order
  table,        // a row for each token, or for each offset in a window: the same as in typenet
  each_channel  // a number for each channel, at one place or at each: the same as in typenet
};

/// What files and diagrams say about an operation. The facts for the planner are in operations::row; this row is only
/// read at run time. table.hpp has the rows that need more than the defaults.
struct row {
  /// What node::groups counts, in a diagram.
  char const* parts = "groups";
  /// Whether a diagram shows the window.
  bool shows_window = false;

  /// The name that Keras derives from the class of the layer. `keras_class_of` takes its place if it is not null.
  char const* keras_class = "layer";
  char const* (*keras_class_of)(graph_view const&, node const&) = nullptr;
  /// The name and the axes of the parameter with role::kernel in Keras. Others have a number for each channel.
  char const* kernel_name = "kernel";
  axes kernel_axes = axes::kernel;
  /// Whether a layer of Keras can include it: Conv2D(activation="relu"); and whether it is such a layer.
  bool is_activation = false;
  bool takes_activation = false;
  output_order order = order_of_typenet;

  /// Whether PyTorch has no module for it, but a parameter of the module around it, which lacks constants.
  bool is_parameter = false;
  /// The names of the parameters in PyTorch; if null, they follow from their roles.
  char const* (*torch_name)(role) = nullptr;
};

/// The row of an operation. table.hpp specialises it.
template <op Kind>
inline constexpr row row_for{};

}  // namespace dsl::formats::TYPENET_MODE
