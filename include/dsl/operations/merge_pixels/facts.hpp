// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Makes one pixel of each square of pixels, whose side is the ratio of input to output rows. Its channels are those of
/// the square's first column from top to bottom, then those of the second column, and so on.
inline constexpr row merge_pixels{.name = "merge_pixels", .output = makes::merged, .slices = slices::always};

}  // namespace dsl::operations
