// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

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

template <>
inline constexpr row row_for<op::concat>{.order = joined_order};

}  // namespace dsl::formats::TYPENET_MODE
