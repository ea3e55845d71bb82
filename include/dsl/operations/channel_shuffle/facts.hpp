// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Reorders channels: first the first channel of each group, then the second channel of each group, and so on.
inline constexpr row channel_shuffle{.name = "channel_shuffle", .options = options::groups, .slices = slices::always};

}  // namespace dsl::operations
