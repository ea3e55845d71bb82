// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Puts a learnt token before the input's pixels in row order. Together they become one row.
inline constexpr row class_token{.name = "class_token",
                                 .parameters = 1,
                                 .roles = {role::kernel},
                                 .output = makes::with_token,
                                 .slices = slices::always};

}  // namespace dsl::operations
