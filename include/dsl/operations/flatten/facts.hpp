// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Makes one flat vector of the values of a sample, in the order (channel, row, column).
inline constexpr row flatten{.name = "flatten", .output = makes::flat, .renames = renames::without_blocks};

}  // namespace dsl::operations
