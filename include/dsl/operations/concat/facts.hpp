// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The channels of all operands, one after the other.
inline constexpr row concat{.name = "concat",
                            .inputs = 2,
                            .or_more = true,
                            .output = makes::joined,
                            .gradients = gradient_steps::copies,
                            .slices = slices::always};

}  // namespace dsl::operations
