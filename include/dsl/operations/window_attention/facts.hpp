// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Attention between the pixels of each window, with a learnt bias for each head and each offset between two pixels.
/// The input is that of attention, and the kernel is (offsets, heads). The node's window has the size of the windows,
/// their shift as padding, and, if the pixels of a window are spread over the image, a dilation. Scores are divided by
/// the square root of `rate`, unless it is 0.
inline constexpr row window_attention{.name = "window_attention",
                                      .parameters = 1,
                                      .roles = {role::kernel},
                                      .output = makes::sliced,
                                      .options = options::window | options::slope | options::groups,
                                      .reads = {values::first_input},
                                      .parameters_read = 1,
                                      .slices = slices::always};

}  // namespace dsl::operations
