// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// What is known of a user's own operation. Whether its outputs are probabilities is the user's to know.
inline constexpr row custom{.name = "custom",
                            .output = makes::any_shape,
                            .reads = {values::first_input | values::output},
                            .gives_probabilities = true};

}  // namespace dsl::operations
