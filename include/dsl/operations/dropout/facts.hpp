// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Zeroes values at random and scales up the others; does nothing in inference.
inline constexpr row dropout{.name = "dropout",
                             .options = options::share,
                             .forward_in_place = true,
                             .gradient_in_place = true,
                             .slices = slices::in_training,
                             .renames = renames::in_inference};

}  // namespace dsl::operations
