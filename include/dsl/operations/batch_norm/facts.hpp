// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Normalises each channel with its mean and variance: in training those over the batch, and in inference the running
/// ones.
inline constexpr row batch_norm{.name = "batch_norm",
                                .parameters = 4,
                                .roles = {role::gamma, role::beta, role::moving_mean, role::moving_variance},
                                .options = options::epsilon | options::momentum,
                                .reads = {values::first_input},
                                .parameters_read = 1,  // also beta, for the mask of a fused relu
                                .kept = kept::statistics,
                                .gradient_over_input = true,
                                .slices = slices::always,
                                .mixes_samples = true};

/// Scales and shifts each channel according to its running mean and variance, which do not change. This is batch_norm
/// within frozen<...>.
inline constexpr row frozen_batch_norm{.name = "batch_norm",
                                       .parameters = 4,
                                       .roles = {role::gamma, role::beta, role::moving_mean, role::moving_variance},
                                       .options = options::epsilon,
                                       .parameters_read = 1 | 8,  // gamma and the running variance
                                       .gradient_in_place = true,
                                       .slices = slices::always};

}  // namespace dsl::operations
