// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Cross-correlation with kernels (out, in / groups, height, width), with an optional bias.
inline constexpr row conv2d{.name = "conv2d",
                            .parameters = 2,
                            .roles = {role::kernel, role::bias},
                            .optional = 1,
                            .output = makes::windows,
                            .options = options::window | options::groups,
                            .gradients = gradient_steps::weights_and_data,
                            .reads = {values::first_input},
                            .parameters_read = 1,
                            .slices = slices::where_the_library_does};

}  // namespace dsl::operations
