// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects the output's number of tokens, from the node's first_channel on.
inline constexpr row token_slice{
    .name = "token_slice", .output = makes::some_tokens, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
