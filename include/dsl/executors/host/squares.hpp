// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::host::TYPENET_MODE {

/// The number of parallel sums of squares, and the number of values in a chunk. Every executor sums in this order, so
/// that a GPU, with a block per chunk, gets the host's bits.
inline constexpr int square_lanes = 256;
inline constexpr long long square_chunk = 64LL * square_lanes;

constexpr long long square_chunks(long long count) { return (count + square_chunk - 1) / square_chunk; }

/// Joins the lanes pairwise: 0 += 128, 1 += 129, ...; 0 += 64, ...
[[gnu::cold]] inline double join_lanes(double* lanes) {
  for (int half = square_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Returns the sum of squares: lane i of a chunk sums every 256th square from i on, and lane i of the result every
/// 256th chunk. Squares of floats are exact in double.
template <class T>
[[gnu::cold]] double sum_of_squares(T const* data, long long count) {
  double all[square_lanes] = {};
  for (long long k = 0; k < square_chunks(count); ++k) {
    double lanes[square_lanes] = {};
    for (long long i = k * square_chunk; i < (k + 1) * square_chunk && i < count; ++i) {
      auto const x = static_cast<double>(data[i]);
      lanes[i % square_lanes] += x * x;
    }
    all[k % square_lanes] += join_lanes(lanes);
  }
  return join_lanes(all);
}

}  // namespace dsl::host::TYPENET_MODE
