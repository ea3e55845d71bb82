// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Selects Count of the input's channels, starting with channel First.
template <int First, int Count>
struct channel_slice {
  static constexpr value lower(builder& b, value in) {
    b.require(First >= 0 && Count > 0 && Count <= in.shape.channels && First <= in.shape.channels - Count,
              {.broken = rule::slice_is_in_the_channels, .first = in.shape, .wanted = Count, .found = First});
    return b.append({.kind = op::channel_slice, .first_channel = First}, in,
                    {Count > 0 ? Count : 1, in.shape.height, in.shape.width});
  }
};
// channel_slice<0, 16> on 64x8x8 -> 16x8x8

/// Divides the channels into Groups equal parts and reorders them: first the first channel of each part, then the
/// second channel of each part, and so on. A grouped convolution after it then sees channels from all groups of the
/// convolution before it (Zhang et al. 2018; PyTorch's nn.ChannelShuffle).
template <int Groups>
struct channel_shuffle {
  static constexpr value lower(builder& b, value in) {
    b.require(divides(Groups, in.shape.channels),
              {.broken = rule::shuffle_divides_the_channels, .first = in.shape, .wanted = Groups});
    return b.append({.kind = op::channel_shuffle, .groups = Groups}, in, in.shape);
  }
};
// channel_shuffle<2> on 64x8x8 -> 64x8x8, in the order 0, 32, 1, 33, ...

}  // namespace dsl
