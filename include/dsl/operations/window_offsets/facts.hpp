// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Two constants for each offset between two pixels of a window: the rows and the columns between them, on a
/// logarithmic scale. The output has a pixel for each offset. The numbers of the input do not matter.
inline constexpr row window_offsets{.name = "window_offsets", .output = makes::offsets, .slices = slices::always};

}  // namespace dsl::operations
