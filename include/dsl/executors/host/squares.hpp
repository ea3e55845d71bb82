// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::host::TYPENET_MODE {

/// By how many sums side by side squares are added up, and how many numbers as one chunk. Every executor adds in this
/// order: a GPU's blocks take a chunk each, and find the host's bits.
inline constexpr int square_lanes = 256;
inline constexpr long long square_chunk = 64LL * square_lanes;

constexpr long long square_chunks(long long count) { return (count + square_chunk - 1) / square_chunk; }

/// 0 += 128, 1 += 129, ...; 0 += 64, ...
[[gnu::cold]] inline double join_lanes(double* lanes) {
  for (int half = square_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Lane i of a chunk has every 256th square from i on, and lane i of the whole every 256th chunk. Squares of floats are
/// exact in double.
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
