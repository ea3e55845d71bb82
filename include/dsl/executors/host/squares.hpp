// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::host::TYPENET_MODE {

/// The number of sums of squares that are computed side by side, followed by the number of values in a chunk. Every
/// executor sums in this order, so that a GPU, which has a thread block per chunk, gets the same bits as the host.
inline constexpr int square_lanes = 256;
inline constexpr long long square_chunk = 64LL * square_lanes;

constexpr long long square_chunks(long long count) { return (count + square_chunk - 1) / square_chunk; }

/// Joins the sums of the lanes in pairs: 0 += 128, 1 += 129, ...; 0 += 64, ...
inline double join_lanes(double* lanes) {
  for (int half = square_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Returns the sum of the squares of chunk k. Lane i adds every 256th square, beginning with the i-th. The square of a
/// float is exact in double.
template <class T>
double squares_of_chunk(T const* data, long long count, long long k) {
  double lanes[square_lanes] = {};
  for (long long i = k * square_chunk; i < (k + 1) * square_chunk && i < count; ++i) {
    auto const x = static_cast<double>(data[i]);
    lanes[i % square_lanes] += x * x;
  }
  return join_lanes(lanes);
}

/// Returns the sum of chunks(k) for all chunks; lane i adds every 256th chunk, beginning with the i-th.
template <class F>
double sum_of_chunks(long long count, F const& chunks) {
  double all[square_lanes] = {};
  for (long long k = 0; k < square_chunks(count); ++k) all[k % square_lanes] += chunks(k);
  return join_lanes(all);
}

/// Returns the sum of the squares of all values.
template <class T>
double sum_of_squares(T const* data, long long count) {
  return sum_of_chunks(count, [&](long long k) { return squares_of_chunk(data, count, k); });
}

}  // namespace dsl::host::TYPENET_MODE
