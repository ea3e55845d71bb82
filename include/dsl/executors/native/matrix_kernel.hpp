// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// Computes a tile of a matrix product, C = start + A B, that fits into registers: some rows by some vectors of
/// columns. Each number is summed in the order of k, so its bits depend neither on the tile's size nor on its
/// neighbours.
///
/// k runs over the taps, over `blocks` blocks of each tap, and over as many numbers of each block as a vector has
/// lanes: the kernel positions, channel blocks and channels of a convolution. B is packed in the order of k, with the
/// tile's columns for each k.
struct product_call {
  float const* a;  // row r, tap t, block b, number i: a[r * a_row + taps[t] + b * a_block + i]
  long long a_row;
  long long a_block;
  long long const* taps;
  int tap_count;
  int blocks;
  float const* b;
  float const* start;  // row r, vector v: start + r * start_row + v * start_vector
  long long start_row;
  long long start_vector;
  float* c;  // row r, vector v: c + r * c_row + v * c_vector
  long long c_row;
  long long c_vector;
  bool relu;  // negative numbers become 0
};

template <int L, int Rows, int Vectors>
struct product {
  using call = product_call;

  [[gnu::always_inline]] static inline void run(product_call const& p) {
    using floats = typename vector<L>::type;
    // Longer bodies are no faster than these but take longer to compile.
    constexpr int unroll = L == 8 ? 4 : Rows * Vectors > 12 ? 1 : 2;
    floats c[Rows][Vectors];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) load<L>(c[r][v], p.start + r * p.start_row + v * p.start_vector);
    float const* b = p.b;
    for (int t = 0; t < p.tap_count; ++t) {
      float const* a = p.a + p.taps[t];
      for (int block = 0; block < p.blocks; ++block, a += p.a_block)
        for (int i = 0; i < L; i += unroll)
#pragma GCC unroll 4
          for (int k = i; k < i + unroll; ++k, b += Vectors * L) {
            floats y[Vectors];
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) load<L>(y[v], b + v * L);
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) {
              floats x;
              broadcast<L>(x, a + r * p.a_row + k);
#pragma GCC unroll 4
              for (int v = 0; v < Vectors; ++v) multiply_add<L>(c[r][v], x, y[v]);
            }
          }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        if (p.relu) clamp_below<L>(c[r][v]);
        store<L>(p.c + r * p.c_row + v * p.c_vector, c[r][v]);
      }
  }
};

/// Computes a tile of C += A^T B, summed over `lines` times `steps` rows of A and B. Neighbouring rows of C belong to
/// neighbouring numbers of A.
struct outer_product_call {
  float const* a;  // line l, step s, row r of C: a[l * a_line + s * a_step + r]
  long long a_line;
  long long a_step;
  float const* b;  // line l, step s, vector v of C: b + l * b_line + s * b_step + v * b_vector
  long long b_line;
  long long b_step;
  long long b_vector;
  int lines;
  int steps;
  float* c;  // row r, vector v: c + r * c_row + v * L
  long long c_row;
  bool fresh;  // write C instead of adding to it
};

template <int L, int Rows, int Vectors>
struct outer_product {
  using call = outer_product_call;

  [[gnu::always_inline]] static inline void run(outer_product_call const& p) {
    using floats = typename vector<L>::type;
    floats c[Rows][Vectors];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        c[r][v] = floats{};
        if (!p.fresh) load<L>(c[r][v], p.c + r * p.c_row + v * L);
      }
    for (int line = 0; line < p.lines; ++line) {
      float const* a = p.a + line * p.a_line;
      float const* b = p.b + line * p.b_line;
      for (int s = 0; s < p.steps; ++s, a += p.a_step, b += p.b_step) {
        floats y[Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) load<L>(y[v], b + v * p.b_vector);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          floats x;
          broadcast<L>(x, a + r);
#pragma GCC unroll 4
          for (int v = 0; v < Vectors; ++v) multiply_add<L>(c[r][v], x, y[v]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<L>(p.c + r * p.c_row + v * L, c[r][v]);
  }
};

/// The largest tiles that leave registers for the factors: the rows of a tile with 1, 2 or 3 vectors of columns. AVX2
/// and SSE2 have 16 registers, of which SSE2 needs one for each product; AVX-512 has 32.
template <int L>
struct tile_sizes;
template <>
struct tile_sizes<4> {
  static constexpr int rows[4] = {0, 6, 5, 3};
  static constexpr int outer_rows = 4;
};
template <>
struct tile_sizes<8> {
  static constexpr int rows[4] = {0, 6, 6, 4};
  static constexpr int outer_rows = 4;
};
template <>
struct tile_sizes<16> {
  static constexpr int rows[4] = {0, 12, 12, 8};
  static constexpr int outer_rows = 8;
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
