// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::channel_scale>{
    .keras_class = "layer_scale", .order = order_of_input, .is_parameter = true};

}  // namespace dsl::formats::TYPENET_MODE
