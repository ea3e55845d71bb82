// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The facts of a custom operation. Its author must know whether the operation's outputs are probabilities.
inline constexpr row custom{.name = "custom",
                            .output = makes::any_shape,
                            .reads = {values::first_input | values::output},
                            .gives_probabilities = true};

}  // namespace dsl::operations
