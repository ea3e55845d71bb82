// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Divides the channels of each pixel by the square root of the mean of their squares, and multiplies them by gamma.
inline constexpr row rms_norm{.name = "rms_norm",
                              .parameters = 1,
                              .roles = {role::gamma},
                              .options = options::epsilon,
                              .reads = {values::first_input},
                              .parameters_read = 1,
                              .forward_in_place = true,
                              .gradient_in_place = true,
                              .gradient_over_input = true,
                              .slices = slices::always};

}  // namespace dsl::operations
