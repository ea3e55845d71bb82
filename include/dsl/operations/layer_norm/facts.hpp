// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Normalises the channels of each pixel with the pixel's own mean and variance, which the backward step computes
/// again.
inline constexpr row layer_norm{.name = "layer_norm",
                                .parameters = 2,
                                .roles = {role::gamma, role::beta},
                                .options = options::epsilon,
                                .reads = {values::first_input},
                                .parameters_read = 1,
                                .forward_in_place = true,
                                .gradient_in_place = true,
                                .gradient_over_input = true,
                                .slices = slices::always};

}  // namespace dsl::operations
