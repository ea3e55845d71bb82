// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Zeros in place of whole samples at random, and the other samples divided by their share; nothing in inference.
inline constexpr row stochastic_depth{.name = "stochastic_depth",
                                      .options = options::share,
                                      .forward_in_place = true,
                                      .gradient_in_place = true,
                                      .slices = slices::in_training,
                                      .renames = renames::in_inference};

}  // namespace dsl::operations
