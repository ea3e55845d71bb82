// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// The input, copied to another device.
inline constexpr row transfer{.name = "transfer", .slices = slices::always};

}  // namespace dsl::operations
