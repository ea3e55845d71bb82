// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_softmax.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// Computes the sum of weights times gradients of weights, both in rows like `at`.
struct weighted_call {
  score_rows at;
  float const* gradients;  // laid out like scores
  float const* shrink;
  float* mean;  // mean = mean * shrink + sum
};

/// Makes the factors of each block's weights, 2^(largest then - largest) / sum, and the mean gradient of the weights.
struct finish_rows_call {
  float const* largest;
  float const* sum;
  float* mean;     // a sum before
  float* factors;  // block b: factors + b * apart; the largest score then, before
  long long apart;
  int blocks;
};

/// Finishes the weights p of a block, multiplies them by `factor`, and turns their gradients t into those of the
/// scores: p (t - mean).
struct score_gradient_call {
  score_rows at;
  float const* gradients;
  float const* factor;
  float const* mean;
  float* finished;  // weights; results are laid out like scores
  float* slopes;
  float* slope_sums = nullptr;  // to which slopes are added; null: none
};

template <int L>
struct weighted_rows {
  using call = weighted_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    float lanes[most_score_rows * L], sums[most_score_rows] = {};
    for (int r = 0; r < c.at.rows; ++r) {
      float const *const weights = c.at.scores + r * c.at.row, *const gradients = c.gradients + r * c.at.row;
      int const keys = c.at.seen_by(r, L), whole = keys / L * L;
      floats sum{}, p, t;
      for (int j = 0; j < whole; j += L) {
        load<L>(p, weights + j);
        load<L>(t, gradients + j);
        multiply_add<L>(sum, p, t);
      }
      if (whole < keys) {
        load<L>(p, weights + whole);
        load<L>(t, gradients + whole);
        replace_unused<L>(t, keys - whole, 0);
        multiply_add<L>(sum, p, t);
      }
      store<L>(lanes + r * L, sum);
    }
    combine_lanes<L, true>(lanes, c.at.rows, sums);
    for (int r = 0; r < c.at.rows; r += L) {
      floats sum, before, shrink;
      load<L>(sum, sums + r);
      load<L>(before, c.mean + r);
      load<L>(shrink, c.shrink + r);
      multiply_add<L>(sum, before, shrink);
      store<L>(c.mean + r, sum);
    }
  }
};

template <int L>
struct finish_rows {
  using call = finish_rows_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int r = 0; r < most_score_rows; r += L) {
      floats sum, mean, largest, then, power, factor;
      load<L>(sum, c.sum + r);
      load<L>(mean, c.mean + r);
      load<L>(largest, c.largest + r);
      floats const none{}, inverse = (1.0F - none) / sum;  // nvcc 13 crashes on 1.0F - floats{}
      multiply<L>(factor, mean, inverse);
      store<L>(c.mean + r, factor);
      for (int b = 0; b < c.blocks; ++b) {
        load<L>(then, c.factors + b * c.apart + r);
        power_of_2<L>(power, then - largest);
        multiply<L>(factor, power, inverse);
        store<L>(c.factors + b * c.apart + r, factor);
      }
    }
  }
};

template <int L>
struct score_gradient_rows {
  using call = score_gradient_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int r = 0; r < c.at.rows; ++r) {
      float const *const weights = c.at.scores + r * c.at.row, *const gradients = c.gradients + r * c.at.row;
      float *const finished = c.finished + r * c.at.row, *const slopes = c.slopes + r * c.at.row;
      float* const sums = c.slope_sums ? c.slope_sums + r * c.at.row : nullptr;
      int const keys = c.at.seen_by(r, L);
      floats factor, mean, p, t;
      broadcast<L>(factor, c.factor + r);
      broadcast<L>(mean, c.mean + r);
      int j = 0;
      for (; j < keys; j += L) {
        floats q, d;
        load<L>(p, weights + j);
        load<L>(t, gradients + j);
        multiply<L>(q, p, factor);
        floats const off = t - mean;
        multiply<L>(d, q, off);
        if (keys - j < L) replace_unused<L>(q, keys - j, 0), replace_unused<L>(d, keys - j, 0);
        store<L>(finished + j, q);
        store<L>(slopes + j, d);
        if (sums) {
          floats sum;
          load<L>(sum, sums + j);
          sum += d;
          store<L>(sums + j, sum);
        }
      }
      for (; j < c.at.vectors * L; j += L) store<L>(finished + j, floats{}), store<L>(slopes + j, floats{});
    }
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
