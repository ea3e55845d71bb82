// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/window.hpp>

namespace dsl {

/// Makes one pixel of each square of Side x Side pixels, with the channels of all of them: first those of the square's
/// left column from top to bottom, then those of the next column. This is the order of torchvision's patch merging.
template <int Side>
struct merge_pixels {
  static constexpr value lower(builder& b, value in) {
    bool const fits = b.require(Side > 0 && in.shape.height % Side == 0 && in.shape.width % Side == 0,
                                {.broken = rule::windows_fill_the_image, .first = in.shape, .wanted = Side});
    int const side = fits ? Side : 1;
    return b.append(
        {.kind = op::merge_pixels}, in,
        {detail::narrow(1LL * in.shape.channels * side * side), in.shape.height / side, in.shape.width / side});
  }
};
// merge_pixels<2> on 96x56x56 -> 384x28x28

}  // namespace dsl
