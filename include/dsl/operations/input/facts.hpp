// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The images of a batch.
inline constexpr row input{.name = "input", .inputs = 0, .output = makes::any_shape, .gradients = gradient_steps::none};

}  // namespace dsl::operations
