// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// A learnt token, followed by the input's pixels in row order, all in one row.
inline constexpr row class_token{.name = "class_token",
                                 .parameters = 1,
                                 .roles = {role::kernel},
                                 .output = makes::with_token,
                                 .slices = slices::always};

}  // namespace dsl::operations
