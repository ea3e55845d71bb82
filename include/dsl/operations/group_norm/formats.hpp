// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

inline keras_channels::order order_of_groups(keras_channels const& all, node const& n) {
  if (n.groups > 1 && !all.of_input(n).empty()) all.refuse(n, keras_channels::grouped);
  return all.of_input(n);
}

template <>
inline constexpr row row_for<op::group_norm>{.keras_class = "group_normalization", .order = order_of_groups};

}  // namespace dsl::formats::TYPENET_MODE
