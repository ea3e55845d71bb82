// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Copies its input to another device.
inline constexpr row transfer{.name = "transfer", .slices = slices::always};

}  // namespace dsl::operations
