// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// e^x over the sum of all e^x, at each pixel over its channels.
inline constexpr row softmax{.name = "softmax", .reads = {values::output}, .gives_probabilities = true};

}  // namespace dsl::operations
