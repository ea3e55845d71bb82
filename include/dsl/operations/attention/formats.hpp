// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::attention>{.parts = "heads"};
template <>
inline constexpr row row_for<op::causal_attention>{.parts = "heads"};

}  // namespace dsl::formats::TYPENET_MODE
