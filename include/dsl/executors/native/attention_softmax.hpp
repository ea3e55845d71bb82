// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>

#include <limits>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// The most rows of scores that a kernel takes at once; arrays of numbers by row have as many.
inline constexpr int most_score_rows = 16;

/// Some rows of a block of scores: each row belongs to a query, each column to a key. In causal attention each row sees
/// one key more than the row before.
struct score_rows {
  float* scores;  // row r, key j: scores[r * row + j]
  long long row;
  int rows;
  int vectors;  // of a row
  int seen;     // keys that the first row sees, of this block; may be negative or too large
  bool causal;

  int seen_by(int r, int lanes) const {
    int const keys = causal ? seen + r : seen;
    return keys < 0 ? 0 : least(keys, vectors * lanes);
  }
};

/// Turns scores, which are binary logarithms, into weights: powers of 2 relative to the largest score of the row so
/// far. Weights of keys that a row does not see are 0. Arrays have a number for each row; what was summed before must
/// be multiplied by `shrink`, and here `sum` and `sums` are.
struct softmax_call {
  score_rows at;
  float* largest;  // of all blocks so far; -infinity at first
  float* sum;      // of weights
  float* shrink;   // result
  float* sums;     // of weighted values: row r: sums + r * sums_row
  long long sums_row;
  int sums_vectors;
};

/// Computes y = 2^x for x <= 0, with an error of at most 1.6 2^-24 before rounding; 2^0 is exact. Below -126 it gives
/// 2^-126. A NaN remains a NaN.
template <int L>
[[gnu::always_inline]] inline void power_of_2(typename vector<L>::type& y, typename vector<L>::type const& of) {
  using floats = typename vector<L>::type;
  using ints = typename vector<L>::ints;
  floats const none{}, lowest = -126.0F - none, round = 0x1.8p23F - none, one = 1.0F - none;
  floats const x = lowest > of ? lowest : of;
  floats const shifted = x + round;  // its last bits are the integer next to x
  floats const r = x - (shifted - round);
  floats series = 0.00132647273F - none, sum;
#pragma GCC unroll 4
  for (int i = 3; i >= 0; --i) {
    sum = (i == 3 ? 0.00967151279F : i == 2 ? 0.0555073374F : i == 1 ? 0.240222421F : 0.693146978F) - none;
    multiply_add<L>(sum, series, r);
    series = sum;
  }
  sum = one;
  multiply_add<L>(sum, series, r);
  ints const power = (reinterpret_cast<ints>(shifted) << 23) + 0x3f800000;
  multiply<L>(y, sum, reinterpret_cast<floats>(power));
}

/// Replaces lanes from `used` on by a number.
template <int L>
[[gnu::always_inline]] inline void replace_unused(typename vector<L>::type& v, int used, float by) {
  typename vector<L>::type const other = by - typename vector<L>::type{};
  typename vector<L>::ints lanes{};
#pragma GCC unroll 16
  for (int l = 1; l < L; ++l) lanes[l] = l;
  v = lanes < used ? v : other;
}

/// Computes the maximum or, if Sum, the sum of each row's lanes, in the order of the lanes. Each iteration of the loop
/// reads one lane of every row, which takes less time than shuffling the lanes of one row after the other.
template <int L, bool Sum>
[[gnu::always_inline]] inline void combine_lanes(float const* lanes, int rows, float* to) {
  for (int r = 0; r < rows; ++r) to[r] = lanes[r * L];
  for (int l = 1; l < L; ++l)
    for (int r = 0; r < rows; ++r) {
      float const x = lanes[r * L + l];
      to[r] = Sum ? to[r] + x : x > to[r] ? x : to[r];
    }
}

template <int L>
struct softmax_rows {
  using call = softmax_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    float lanes[most_score_rows * L], found[most_score_rows] = {}, sums[most_score_rows] = {};
    for (int r = 0; r < c.at.rows; ++r) {
      float const* const from = c.at.scores + r * c.at.row;
      int const keys = c.at.seen_by(r, L), whole = keys / L * L;
      floats const none{};  // nvcc 13 crashes on a number less floats{}
      floats top = -std::numeric_limits<float>::infinity() - none, x;
      for (int j = 0; j < whole; j += L) {
        load<L>(x, from + j);
        top = x > top ? x : top;  // a NaN shows in the sum
      }
      if (whole < keys) {
        load<L>(x, from + whole);
        replace_unused<L>(x, keys - whole, -std::numeric_limits<float>::infinity());
        top = x > top ? x : top;
      }
      store<L>(lanes + r * L, top);
    }
    combine_lanes<L, false>(lanes, c.at.rows, found);
    for (int r = 0; r < c.at.rows; r += L) {
      floats before, now, shrink;
      load<L>(before, c.largest + r);
      load<L>(now, found + r);
      now = now > before ? now : before;
      store<L>(c.largest + r, now);
      power_of_2<L>(shrink, before - now);
      store<L>(c.shrink + r, shrink);
    }
    for (int r = 0; r < c.at.rows; ++r) weigh(c, r, lanes + r * L);
    combine_lanes<L, true>(lanes, c.at.rows, sums);
    for (int r = 0; r < c.at.rows; r += L) {
      floats sum, before, shrink;
      load<L>(sum, sums + r);
      load<L>(before, c.sum + r);
      load<L>(shrink, c.shrink + r);
      multiply_add<L>(sum, before, shrink);
      store<L>(c.sum + r, sum);
    }
    for (int r = 0; r < c.at.rows; ++r) {
      floats shrink, x, y;
      broadcast<L>(shrink, c.shrink + r);
      for (int v = 0; v < c.sums_vectors; ++v) {
        load<L>(x, c.sums + r * c.sums_row + v * L);
        multiply<L>(y, x, shrink);
        store<L>(c.sums + r * c.sums_row + v * L, y);
      }
    }
  }

 private:
  [[gnu::always_inline]] static inline void weigh(call const& c, int r, float* sums) {
    float* const at = c.at.scores + r * c.at.row;
    int const keys = c.at.seen_by(r, L), whole = keys / L * L;
    floats largest, sum{}, x, p;
    broadcast<L>(largest, c.largest + r);
    int j = 0;
    for (; j < whole; j += L) {
      load<L>(x, at + j);
      power_of_2<L>(p, x - largest);
      store<L>(at + j, p);
      sum += p;
    }
    if (j < keys) {
      load<L>(x, at + j);
      power_of_2<L>(p, x - largest);
      replace_unused<L>(p, keys - j, 0);
      store<L>(at + j, p);
      sum += p;
      j += L;
    }
    for (; j < c.at.vectors * L; j += L) store<L>(at + j, floats{});
    store<L>(sums, sum);
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
