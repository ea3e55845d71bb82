// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::upsample_nearest>{.order = order_of_input};
template <>
inline constexpr row row_for<op::upsample_bilinear>{.order = order_of_input};

}  // namespace dsl::formats::TYPENET_MODE
