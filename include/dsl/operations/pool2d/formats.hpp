// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::max_pool2d>{.shows_window = true, .order = order_of_input};
template <>
inline constexpr row row_for<op::avg_pool2d>{.shows_window = true, .order = order_of_input};

}  // namespace dsl::formats::TYPENET_MODE
