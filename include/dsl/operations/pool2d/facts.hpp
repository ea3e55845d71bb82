// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Computes the largest value of each window. The backward step reads the position of this value.
inline constexpr row max_pool2d{.name = "max_pool2d",
                                .output = makes::pooled,
                                .options = options::window,
                                .kept = kept::argmax,
                                .slices = slices::always};

/// Computes the mean of each window, with or without the zeros of the padding.
inline constexpr row avg_pool2d{.name = "avg_pool2d",
                                .output = makes::pooled,
                                .options = options::window | options::counted_padding,
                                .slices = slices::always};

}  // namespace dsl::operations
