// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Selects a range of channels: as many as the output has, starting with the node's first_channel.
inline constexpr row channel_slice{
    .name = "channel_slice", .output = makes::sliced, .options = options::first_channel, .slices = slices::always};

}  // namespace dsl::operations
