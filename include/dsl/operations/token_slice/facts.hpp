// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects a range of tokens: as many as the output has, starting with token first_channel of the node.
inline constexpr row token_slice{
    .name = "token_slice", .output = makes::some_tokens, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
