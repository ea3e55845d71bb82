// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Computes what window_attention computes, with the biases 16 / (1 + e^-z), where z is the second operand: a channel
/// for each head, and a pixel for each offset.
inline constexpr row bounded_window_attention{
    .name = "bounded_window_attention",
    .inputs = 2,
    .output = makes::sliced,
    .options = options::window | options::slope | options::groups,
    .reads = {values::first_input | values::second_input, values::first_input | values::second_input},
    .slices = slices::always};

}  // namespace dsl::operations
