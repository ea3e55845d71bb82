// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// Copies tokens of one head between channel blocks, where block b of token i is at blocks + b * apart + i * L, and the
/// layouts of the matrix kernel's factors.
struct head_call {
  float* blocks;
  long long apart;
  int count;  // of channel blocks
  int tokens;
  float* rows;  // token i: rows + i * row; for `turn`, channel c: rows + c * row
  long long row;
  float const* factors = nullptr;  // of the tokens; null: all are `factor`
  float factor = 1;
  bool accumulate = false;
  int const* pixels = nullptr;  // of the tokens; null: they follow each other

  long long place(int token) const { return pixels ? pixels[token] : token; }
};

/// Copies rows of channels out of the blocks, times the factor.
template <int L>
struct read_head {
  using call = head_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    floats const factor = c.factor - floats{};
    for (int i = 0; i < c.tokens; ++i)
      for (int b = 0; b < c.count; ++b) {
        floats x, y;
        load<L>(x, c.blocks + b * c.apart + c.place(i) * L);
        multiply<L>(y, x, factor);
        store<L>(c.rows + i * c.row + 1LL * b * L, y);
      }
  }
};

/// Multiplies rows of channels by the factors of their tokens, and writes or adds the products to the blocks.
template <int L>
struct write_head {
  using call = head_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    for (int i = 0; i < c.tokens; ++i) {
      floats const factor = (c.factors ? c.factors[i] : c.factor) - floats{};
      for (int b = 0; b < c.count; ++b) {
        float* const to = c.blocks + b * c.apart + c.place(i) * L;
        floats x, y;
        load<L>(x, c.rows + i * c.row + 1LL * b * L);
        if (c.accumulate) {
          load<L>(y, to);
          multiply_add<L>(y, x, factor);
        } else {
          multiply<L>(y, x, factor);
        }
        store<L>(to, y);
      }
    }
  }
};

/// Copies the tokens into columns: number i of row c is channel c of token i. Rows end with a whole vector, whose
/// numbers beyond the last token are 0.
template <int L>
struct turn_head {
  using call = head_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int b = 0; b < c.count; ++b) {
      float const* const block = c.blocks + b * c.apart;
      float* const to = c.rows + b * L * c.row;
      int i = 0;
      for (; i < c.tokens; ++i) {
        float const* const from = block + c.place(i) * L;
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l) to[l * c.row + i] = from[l];
      }
      for (; i % L != 0; ++i)
        for (int l = 0; l < L; ++l) to[l * c.row + i] = 0;
    }
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
