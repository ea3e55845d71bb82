// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The sum of all operands.
inline constexpr row add{.name = "add",
                         .inputs = 2,
                         .or_more = true,
                         .output = makes::common_shape,
                         .gradients = gradient_steps::copies,
                         .slices = slices::always};

}  // namespace dsl::operations
