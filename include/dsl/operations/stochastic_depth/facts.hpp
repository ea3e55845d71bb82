// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Sets random samples to zero and divides the other samples by the probability that a sample is not set to zero. Does
/// nothing in inference.
inline constexpr row stochastic_depth{.name = "stochastic_depth",
                                      .options = options::share,
                                      .forward_in_place = true,
                                      .gradient_in_place = true,
                                      .slices = slices::in_training,
                                      .renames = renames::in_inference};

}  // namespace dsl::operations
