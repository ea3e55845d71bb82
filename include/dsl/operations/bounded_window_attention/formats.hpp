// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::bounded_window_attention>{.parts = "heads"};

}  // namespace dsl::formats::TYPENET_MODE
