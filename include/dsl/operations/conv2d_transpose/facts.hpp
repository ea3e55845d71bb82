// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Computes the same as the gradient of a conv2d with respect to its input: each input pixel is multiplied by the
/// kernels (in, out / groups, height, width), and the products are added where they overlap. A bias is optional.
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
