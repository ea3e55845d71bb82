// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Divides the queries and the keys of attention's input by their length, and multiplies the queries of each head by
/// e^gamma, at most 100. Values stay as they are. `groups` is the number of heads.
inline constexpr row head_norm{.name = "head_norm",
                               .parameters = 1,
                               .roles = {role::gamma},
                               .options = options::groups,
                               .reads = {values::first_input},
                               .parameters_read = 1,
                               .slices = slices::always};

}  // namespace dsl::operations
