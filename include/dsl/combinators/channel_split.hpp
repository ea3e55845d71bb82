// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/concat.hpp>

namespace dsl {

/// Splits the channels into equal parts, one for each branch, and concatenates the branches' outputs.
template <class... Branches>
struct channel_split {
  using children = types<Branches...>;

  static constexpr value lower(builder& b, value in) {
    int const count = sizeof...(Branches);
    b.require(count >= 2 && in.shape.channels % (count > 0 ? count : 1) == 0,
              {.broken = rule::split_divides_the_channels, .first = in.shape, .wanted = count});
    return detail::lower_branches<Branches...>(b, in, true);
  }
};
// channel_split<identity, conv2d<32, 3>> on 64x8x8 -> 64x8x8; the convolution sees 32 channels

}  // namespace dsl
