// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects the output's number of channels, from the node's first_channel on.
inline constexpr row channel_slice{
    .name = "channel_slice", .output = makes::sliced, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
