// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

template <>
inline constexpr row row_for<op::embedding>{.parts = "tokens",
                                            .keras_class = "embedding",
                                            .kernel_name = "embeddings",
                                            .kernel_axes = axes::table,
                                            .order = new_order};

}  // namespace dsl::formats::TYPENET_MODE
