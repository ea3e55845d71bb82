// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::test {

/// Returns the larger of two distances, and NaN if one of them is NaN, so that a comparison with a bound fails.
/// std::max and std::fmax drop a NaN.
constexpr double larger(double a, double b) {
  bool const a_is_nan = !(a <= a);
  return a_is_nan || a > b ? a : b;
}
static_assert(larger(1, 2) == 2 && larger(2, 1) == 2 && larger(1, 1) == 1);

}  // namespace dsl::test
