// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Divides each number by a power of a sum of squares, taken over neighbouring channels of the same pixel. The backward
/// step computes this power again.
inline constexpr row local_response_norm{
    .name = "local_response_norm",
    .options = options::slope | options::epsilon | options::groups | options::power,
    .reads = {values::first_input},
    .slices = slices::always};

}  // namespace dsl::operations
