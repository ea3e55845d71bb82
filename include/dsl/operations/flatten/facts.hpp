// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The numbers of a sample in one row: (channel, row, column).
inline constexpr row flatten{.name = "flatten", .output = makes::flat, .renames = renames::without_blocks};

}  // namespace dsl::operations
