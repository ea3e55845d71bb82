// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// A token that is learnt, and behind it the input's pixels, row by row, all in one row.
inline constexpr row class_token{.name = "class_token",
                                 .parameters = 1,
                                 .roles = {role::kernel},
                                 .output = makes::with_token,
                                 .slices = slices::always};

}  // namespace dsl::operations
