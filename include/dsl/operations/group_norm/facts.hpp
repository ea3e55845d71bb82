// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Normalises each group of channels of a sample with the group's own mean and variance, which the backward step
/// computes again.
inline constexpr row group_norm{.name = "group_norm",
                                .parameters = 2,
                                .roles = {role::gamma, role::beta},
                                .options = options::epsilon | options::groups,
                                .reads = {values::first_input},
                                .parameters_read = 1,
                                .forward_in_place = true,
                                .gradient_in_place = true,
                                .gradient_over_input = true,
                                .slices = slices::always};

}  // namespace dsl::operations
