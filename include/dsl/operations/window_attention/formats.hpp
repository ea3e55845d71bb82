// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::window_attention>{.parts = "heads",
                                                   .shows_window = true,
                                                   .keras_class = "window_attention",
                                                   .kernel_axes = axes::table,
                                                   .is_parameter = true};

}  // namespace dsl::formats::TYPENET_MODE
