// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Adds a learnt number to each channel of each pixel.
inline constexpr row position_embedding{.name = "position_embedding",
                                        .parameters = 1,
                                        .roles = {role::kernel},
                                        .forward_in_place = true,
                                        .gradient_in_place = true,
                                        .slices = slices::always};

}  // namespace dsl::operations
