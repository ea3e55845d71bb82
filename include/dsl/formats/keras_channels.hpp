// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/place.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace dsl::formats::TYPENET_MODE {

/// The order that the channels of a network's tensors have in Keras. It differs from typenet's behind a flatten: Keras
/// flattens in the order height, width, channels.
class keras_channels {
 public:
  /// The position of each channel in Keras's tensor; empty if all positions are the same in typenet.
  using order = std::vector<int>;

  explicit keras_channels(graph_view const& g) : graph_(g), orders_(static_cast<std::size_t>(g.size.tensors)) {}

  graph_view const& graph() const { return graph_; }
  order const& of_input(node const& n, int i = 0) const {
    return orders_[static_cast<std::size_t>(graph_.input(n, i))];
  }
  void set_output(node const& n, order o) { orders_[static_cast<std::size_t>(n.output)] = std::move(o); }
  /// Returns the position in Keras's tensor of channel c.
  static int at(order const& o, int c) { return o.empty() ? c : o[static_cast<std::size_t>(c)]; }

  static constexpr char const* behind_flatten =
      "comes after a flatten, so its channels are in a different order in Keras, which flattens in the order height, "
      "width, channels";
  static constexpr char const* grouped =
      "comes after a flatten, so its groups consist of different channels in Keras, which flattens in the order "
      "height, "
      "width, channels";
  static constexpr char const* mixed_orders =
      "has operands whose channels are in different orders in Keras, which flattens in the order height, width, "
      "channels";
  /// Throws option_error: the weights of a network with this node cannot be converted.
  [[noreturn]] void refuse(node const& n, char const* why) const {
    dsl::detail::throw_error<option_error>(
        {"weights: ", dsl::detail::layer_place(graph_, n.scope), " ", why,
         "; these weights cannot be converted; use safetensors and PyTorch's names"});
  }

 private:
  graph_view graph_;
  std::vector<order> orders_;  // of each tensor
};

}  // namespace dsl::formats::TYPENET_MODE
