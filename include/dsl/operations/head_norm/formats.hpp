// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::head_norm>{.parts = "heads", .keras_class = "head_norm", .is_parameter = true};

}  // namespace dsl::formats::TYPENET_MODE
