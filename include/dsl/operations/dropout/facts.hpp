// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Zeros at random, and the other numbers divided by their share; nothing in inference.
inline constexpr row dropout{.name = "dropout",
                             .options = options::share,
                             .forward_in_place = true,
                             .gradient_in_place = true,
                             .slices = slices::in_training,
                             .renames = renames::in_inference};

}  // namespace dsl::operations
