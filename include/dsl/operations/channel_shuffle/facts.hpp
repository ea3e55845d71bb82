// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Reorders channels: the first of each group, then the second of each, and so on.
inline constexpr row channel_shuffle{.name = "channel_shuffle", .options = options::groups, .slices = slices::always};

}  // namespace dsl::operations
