// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// What a conv2d's data gradient is: each input pixel times kernels (in, out / groups, height, width), added up where
/// they overlap, plus a bias or none.
inline constexpr row conv2d_transpose{.name = "conv2d_transpose",
                                      .parameters = 2,
                                      .roles = {role::kernel, role::bias},
                                      .optional = 1,
                                      .output = makes::stretched,
                                      .options = options::window | options::groups,
                                      .gradients = gradient_steps::weights_and_data,
                                      .reads = {values::first_input},
                                      .parameters_read = 1,
                                      .slices = slices::always};

}  // namespace dsl::operations
