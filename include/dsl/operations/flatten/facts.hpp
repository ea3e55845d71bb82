// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The values of a sample in one row, ordered (channel, row, column).
inline constexpr row flatten{.name = "flatten", .output = makes::flat, .renames = renames::without_blocks};

}  // namespace dsl::operations
