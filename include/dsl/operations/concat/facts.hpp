// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The concatenated channels of all operands.
inline constexpr row concat{.name = "concat",
                            .inputs = 2,
                            .or_more = true,
                            .output = makes::joined,
                            .gradients = gradient_steps::copies,
                            .slices = slices::always};

}  // namespace dsl::operations
