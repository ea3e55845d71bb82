// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The value between pixels: that of the nearest one, or a mean of the four nearest, weighted by distance.
enum class interpolation { nearest, bilinear };

}  // namespace dsl
