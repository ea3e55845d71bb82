// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::host::TYPENET_MODE {

/// The two input rows, or columns, between which an output row lies: it is (1 - share) * low + share * high.
struct neighbours {
  int low = 0;
  int high = 0;
  double share = 0;
};

/// Returns the nearest row. nearest_of(5, 2, 4) -> {2, 2, 0}: the sixth of eight rows is the third of four.
constexpr neighbours nearest_of(int place, int factor, int /*size*/) { return {place / factor, place / factor, 0}; }

/// Returns the neighbours for bilinear interpolation. bilinear_of(4, 2, 4) -> {1, 2, 0.75}: pixels are squares whose
/// centres are compared (PyTorch's align_corners=False).
constexpr neighbours bilinear_of(int place, int factor, int size) {
  long long const from_centre = 2LL * place + 1 - factor;  // to the centre of the first pixel, in 1 / (2 factor) pixels
  if (from_centre <= 0) return {0, 0, 0};
  auto const low = static_cast<int>(from_centre / (2LL * factor));
  if (low + 1 >= size) return {size - 1, size - 1, 0};
  return {low, low + 1, static_cast<double>(from_centre % (2LL * factor)) / (2.0 * factor)};
}

}  // namespace dsl::host::TYPENET_MODE
