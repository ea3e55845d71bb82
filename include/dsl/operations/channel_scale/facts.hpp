// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Multiplies each channel by a learnt number.
inline constexpr row channel_scale{.name = "channel_scale",
                                   .parameters = 1,
                                   .roles = {role::gamma},
                                   .reads = {values::first_input},
                                   .parameters_read = 1,
                                   .forward_in_place = true,
                                   .gradient_in_place = true,
                                   .gradient_over_input = true,
                                   .slices = slices::always};

}  // namespace dsl::operations
