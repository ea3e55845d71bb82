// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Computes, for each unit, a weighted sum of all inputs plus a bias. Kernels are (out, in).
inline constexpr row dense{.name = "dense",
                           .parameters = 2,
                           .roles = {role::kernel, role::bias},
                           .takes_flat = true,
                           .output = makes::units,
                           .gradients = gradient_steps::weights_and_data,
                           .reads = {values::first_input},
                           .parameters_read = 1};

}  // namespace dsl::operations
