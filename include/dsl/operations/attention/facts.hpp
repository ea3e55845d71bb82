// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Scaled dot-product attention between the pixels, which are the tokens. The input has the channels of the queries,
/// then of the keys, then of the values; `groups` is the number of heads. The backward step computes the attention
/// weights again from the input, so that no step stores a number for each pair of tokens.
inline constexpr row attention{.name = "attention",
                               .output = makes::sliced,
                               .options = options::groups,
                               .reads = {values::first_input},
                               .slices = slices::always};

/// Attention in which a token sees only itself and the tokens before it.
inline constexpr row causal_attention{.name = "causal attention",
                                      .output = makes::sliced,
                                      .options = options::groups,
                                      .reads = {values::first_input},
                                      .slices = slices::always};

}  // namespace dsl::operations
