// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::position_embedding>{
    .keras_class = "position_embedding", .kernel_axes = axes::each_channel, .is_parameter = true};

}  // namespace dsl::formats::TYPENET_MODE
