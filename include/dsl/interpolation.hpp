// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// What stands between pixels: the nearest one, or a mean of the four around, weighted by how near they are.
enum class interpolation { nearest, bilinear };

}  // namespace dsl
