// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/interpolation.hpp>
#include <dsl/layers/window.hpp>

namespace dsl {

/// Enlarges height and width by Factor. Each pixel is repeated or, with interpolation::bilinear, the four nearest
/// pixels are interpolated, as PyTorch's nn.Upsample (align_corners=False) and Keras's UpSampling2D do.
template <int Factor, interpolation Between = interpolation::nearest>
struct upsample2d {
  static constexpr value lower(builder& b, value in) {
    constexpr op kind = Between == interpolation::bilinear ? op::upsample_bilinear : op::upsample_nearest;
    b.require(Factor > 0, {.broken = rule::factor_is_positive, .first = in.shape, .found = Factor});
    constexpr int times = Factor > 0 ? Factor : 1;
    shape const out{in.shape.channels, detail::narrow(1LL * times * in.shape.height),
                    detail::narrow(1LL * times * in.shape.width)};
    b.require(out.size() <= 0x7fffffffLL, {.broken = rule::tensor_fits_32_bits, .first = out, .found = out.size()});
    return b.append({.kind = kind}, in, out);
  }
};
// upsample2d<2> on 64x8x8 -> 64x16x16

}  // namespace dsl
