// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The product of two operands; an operand with one channel, or one pixel, is broadcast.
inline constexpr row multiply{.name = "multiply",
                              .inputs = 2,
                              .output = makes::broadcast,
                              .reads = {values::second_input, values::first_input},
                              .slices = slices::always};

}  // namespace dsl::operations
