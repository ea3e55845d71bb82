// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/weight_names.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The layout of parameters in another framework: the order of their axes, and the order of a layer's inputs after a
/// flatten. typenet has PyTorch's layout. Keras flattens (height, width, channels), so a layer that reads a flattened
/// tensor has its inputs in another order.
class weight_layout {
 public:
  /// Throws option_error for an add whose operands would be in different orders in Keras, and for a custom operation
  /// that reshapes a tensor whose order in Keras is another one.
  weight_layout(graph_view const& g, weight_convention c);

  /// Returns the shape of parameter k in the other framework's layout.
  std::vector<std::uint64_t> shape(int k) const { return shape(k, true); }
  /// If `depthwise` is false, a depthwise convolution is a Conv2D with groups in Keras. The order of its numbers is the
  /// same.
  std::vector<std::uint64_t> shape(int k, bool depthwise) const;
  void from_ours(int k, float const* ours, float* theirs) const;
  void to_ours(int k, float const* theirs, float* ours) const;

 private:
  /// The position of each channel in Keras's tensor; empty if all positions are the same in typenet.
  using order = std::vector<int>;

  /// Whether parameter k has one row for each token, or for each offset in a window. Such a parameter has the same axes
  /// in Keras.
  bool is_table(int k) const {
    op const kind = graph_.nodes[graph_.parameters[k].node].kind;
    return kind == op::embedding || kind == op::window_attention;
  }
  /// Whether parameter k has one number for each channel, as a table of learnt constants has for each place.
  bool is_by_channel(int k) const {
    parameter const& p = graph_.parameters[k];
    return p.rank == 1 || (p.rank == 3 && graph_.nodes[p.node].kind != op::conv2d);
  }
  bool keras() const { return convention_ == weight_convention::keras; }
  order const& order_of(int tensor) const { return orders_[static_cast<std::size_t>(tensor)]; }
  static int at(order const& o, int i) { return o.empty() ? i : o[static_cast<std::size_t>(i)]; }

  static constexpr char const* behind_flatten =
      "comes after a flatten, so its channels are in a different order in Keras, which flattens in the order height, "
      "width, channels";
  static constexpr char const* mixed_orders =
      "has operands whose channels are in different orders in Keras, which flattens in the order height, width, "
      "channels";
  [[noreturn, gnu::cold]] void refuse(node const& n, char const* why) const;
  order order_behind(node const& n) const;
  /// Returns the order of the output of a multiply. It does not depend on an operand with only one channel.
  order broadcast_order(node const& n) const;
  order flattened(node const& n) const;
  order joined(node const& n) const;

  /// Calls f(position in typenet's layout, position in the other layout) for every number of parameter k.
  template <class F>
  void for_each(int k, F f) const {
    parameter const& p = graph_.parameters[k];
    node const& n = graph_.nodes[p.node];
    order const inputs = keras() && p.role != role::bias ? order_of(graph_.input(n)) : order{};
    bool const by_channel = is_by_channel(k);
    if (!keras() || is_table(k) || (by_channel && inputs.empty())) {
      for (long long i = 0; i < p.count(); ++i) f(i, i);
    } else if (by_channel) {
      for (int c = 0; c < p.dims[0]; ++c) f(c, inputs[static_cast<std::size_t>(c)]);
    } else {
      long long here = 0;
      long long const area = 1LL * p.dims[2] * p.dims[3];
      for (int o = 0; o < p.dims[0]; ++o)
        for (int i = 0; i < p.dims[1]; ++i)
          for (long long pixel = 0; pixel < area; ++pixel)
            f(here++, (pixel * p.dims[1] + at(inputs, i)) * p.dims[0] + o);
    }
  }

  graph_view graph_;
  weight_convention convention_;
  std::vector<order> orders_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/weight_layout_inl.hpp>
#endif
