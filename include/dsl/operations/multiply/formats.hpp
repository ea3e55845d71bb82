// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

/// Returns the order of the operand with channels; one with a single channel has none.
inline keras_channels::order broadcast_order(keras_channels const& all, node const& n) {
  keras_channels::order const &first = all.of_input(n), &second = all.of_input(n, 1);
  if (all.graph().input_shape(n).channels == 1) return second;
  if (all.graph().input_shape(n, 1).channels > 1 && first != second) all.refuse(n, keras_channels::mixed_orders);
  return first;
}

template <>
inline constexpr row row_for<op::multiply>{.order = broadcast_order};

}  // namespace dsl::formats::TYPENET_MODE
