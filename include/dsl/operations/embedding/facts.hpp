// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Replaces each token number of its input by the row of the kernel with that number.
inline constexpr row embedding{.name = "embedding",
                               .parameters = 1,
                               .roles = {role::kernel},
                               .output = makes::looked_up,
                               .options = options::groups,
                               .reads = {values::first_input},
                               .slices = slices::always};

}  // namespace dsl::operations
