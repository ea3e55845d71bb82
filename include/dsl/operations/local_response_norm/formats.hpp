// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::local_response_norm>{.parts = "neighbours"};

}  // namespace dsl::formats::TYPENET_MODE
