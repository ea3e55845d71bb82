// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects a range of tokens, which begins with token number first_channel of the node and has as many tokens as the
/// output.
inline constexpr row token_slice{
    .name = "token_slice", .output = makes::some_tokens, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
