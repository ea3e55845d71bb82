// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::conv2d_transpose>{
    .shows_window = true, .keras_class = "conv2d_transpose", .takes_activation = true};

}  // namespace dsl::formats::TYPENET_MODE
