// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Repeats each pixel by the ratio of output to input rows and columns.
inline constexpr row upsample_nearest{.name = "upsample2d", .output = makes::enlarged, .slices = slices::always};

/// Interpolates between the four nearest pixels; at the border it repeats the outermost ones.
inline constexpr row upsample_bilinear{
    .name = "bilinear upsample2d", .output = makes::enlarged, .slices = slices::always};

}  // namespace dsl::operations
