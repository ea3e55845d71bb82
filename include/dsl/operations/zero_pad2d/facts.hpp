// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Adds rows and columns of zeros around the image.
inline constexpr row zero_pad2d{
    .name = "zero_pad2d", .output = makes::padded, .options = options::window, .slices = slices::always};

}  // namespace dsl::operations
