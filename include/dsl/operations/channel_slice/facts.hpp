// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects a range of channels, which begins with the node's first_channel and has as many channels as the output.
inline constexpr row channel_slice{
    .name = "channel_slice", .output = makes::sliced, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
