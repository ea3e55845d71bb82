// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Multiplies two operands. An operand with one channel, or with one pixel, is broadcast.
inline constexpr row multiply{.name = "multiply",
                              .inputs = 2,
                              .output = makes::broadcast,
                              .reads = {values::second_input, values::first_input},
                              .slices = slices::always};

}  // namespace dsl::operations
