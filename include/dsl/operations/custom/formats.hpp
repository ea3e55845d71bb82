// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

inline keras_channels::order own_order(keras_channels const& all, node const& n) {
  if (!all.of_input(n).empty() && !(all.graph().input_shape(n) == all.graph().output_shape(n)))
    all.refuse(n, "changes the shape after a flatten, and the order in Keras is unknown");
  return all.of_input(n);
}

template <>
inline constexpr row row_for<op::custom>{.order = own_order};

}  // namespace dsl::formats::TYPENET_MODE
