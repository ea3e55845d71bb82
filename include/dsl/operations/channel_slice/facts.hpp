// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// As many channels as the output has, from the node's first one on.
inline constexpr row channel_slice{
    .name = "channel_slice", .output = makes::sliced, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
