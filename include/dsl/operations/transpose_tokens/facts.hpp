// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Exchanges channels and pixels: channel c of pixel p becomes channel p of pixel c, in one row.
inline constexpr row transpose_tokens{
    .name = "transpose_tokens", .output = makes::transposed, .slices = slices::always};

}  // namespace dsl::operations
