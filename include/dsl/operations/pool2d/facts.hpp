// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The largest number of each window; the backward step knows its place.
inline constexpr row max_pool2d{.name = "max_pool2d",
                                .output = makes::pooled,
                                .options = options::window,
                                .kept = kept::argmax,
                                .slices = slices::always};

/// The mean of each window.
inline constexpr row avg_pool2d{
    .name = "avg_pool2d", .output = makes::pooled, .options = options::window, .slices = slices::always};

}  // namespace dsl::operations
