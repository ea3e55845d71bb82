// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

inline keras_channels::order common_order(keras_channels const& all, node const& n) {
  for (int i = 1; i < n.inputs; ++i)
    if (all.of_input(n, i) != all.of_input(n)) all.refuse(n, keras_channels::mixed_orders);
  return all.of_input(n);
}

template <>
inline constexpr row row_for<op::add>{.order = common_order};

}  // namespace dsl::formats::TYPENET_MODE
