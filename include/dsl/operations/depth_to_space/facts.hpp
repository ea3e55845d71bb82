// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Makes a square of pixels of the channels of each pixel; its side is the ratio of output to input rows. `groups` is
/// the distance between the channels that become neighbouring pixels: 1 in ONNX's order CRD, as in PyTorch's
/// PixelShuffle, and the number of output channels in its order DCR. It divides the output channels.
inline constexpr row depth_to_space{
    .name = "depth_to_space", .output = makes::squares, .options = options::groups, .slices = slices::always};

/// The inverse: makes one pixel of each square. `groups` divides the input channels.
inline constexpr row space_to_depth{
    .name = "space_to_depth", .output = makes::merged, .options = options::groups, .slices = slices::always};

}  // namespace dsl::operations
