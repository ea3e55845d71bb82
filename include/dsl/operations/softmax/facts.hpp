// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Computes e^x divided by the sum of all e^x, over the channels of each pixel.
inline constexpr row softmax{.name = "softmax", .reads = {values::output}, .gives_probabilities = true};

}  // namespace dsl::operations
