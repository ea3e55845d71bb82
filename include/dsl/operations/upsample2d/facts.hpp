// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Each pixel several times, as often as the output has more rows and columns.
inline constexpr row upsample_nearest{.name = "upsample2d", .output = makes::enlarged, .slices = slices::always};

/// Means of the four pixels around; beyond the outermost pixels, those.
inline constexpr row upsample_bilinear{
    .name = "bilinear upsample2d", .output = makes::enlarged, .slices = slices::always};

}  // namespace dsl::operations
