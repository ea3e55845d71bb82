// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>
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
  using keras_channels = formats::keras_channels;

  bool keras() const { return convention_ == weight_convention::keras; }
  /// Returns the axes of parameter k in Keras.
  formats::axes axes_of(int k) const;

  /// Calls f(position in typenet's layout, position in the other layout) for every number of parameter k.
  template <class F>
  void for_each(int k, F f) const {
    parameter const& p = graph_.parameters[k];
    node const& n = graph_.nodes[p.node];
    keras_channels::order const inputs =
        keras() && p.role != role::bias ? channels_.of_input(n) : keras_channels::order{};
    bool const by_channel = axes_of(k) == formats::axes::each_channel;
    if (!keras() || axes_of(k) == formats::axes::table || (by_channel && inputs.empty())) {
      for (long long i = 0; i < p.count(); ++i) f(i, i);
    } else if (by_channel) {
      for (int c = 0; c < p.dims[0]; ++c) f(c, inputs[static_cast<std::size_t>(c)]);
    } else {
      long long here = 0;
      long long const area = 1LL * p.dims[2] * p.dims[3];
      for (int o = 0; o < p.dims[0]; ++o)
        for (int i = 0; i < p.dims[1]; ++i)
          for (long long pixel = 0; pixel < area; ++pixel)
            f(here++, (pixel * p.dims[1] + keras_channels::at(inputs, i)) * p.dims[0] + o);
    }
  }

  graph_view graph_;
  weight_convention convention_;
  keras_channels channels_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/weight_layout_inl.hpp>
#endif
