// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/widths.hpp>
#include <dsl/executors/native/matrix_kernel.hpp>
#include <dsl/executors/native/tiles.hpp>
#include <dsl/executors/native/toom_cook.hpp>

namespace dsl::cpu {

inline constexpr int most_rows = 12;
inline constexpr int most_vectors = 3;

/// What exists once for each instruction set: a table of functions, as host::memory_kernels is one. Everything else is
/// compiled once, for any processor.
struct kernels {
  int lanes;
  int rows[most_vectors + 1];  // of the largest product tile, by its vectors
  int outer_rows;
  void (*product[most_vectors + 1][most_rows + 1])(product_call const&);  // [vectors][rows]
  void (*outer_product[most_vectors + 1])(outer_product_call const&);     // [vectors], of outer_rows rows
  void (*tiles_in)(tiles_in_call const&);        // an input's, for F(4x4, 3x3); as all that follow
  void (*gradients_in)(tiles_in_call const&);    // an output gradient's
  void (*tiles_out)(tiles_out_call const&);      // to an output
  void (*kernels_in)(kernels_in_call const&);    // a kernel's
  void (*kernels_out)(kernels_out_call const&);  // to a kernel's gradient
};

namespace widths {

using namespace host::widths;

template <int L>
struct input_tiles {
  using call = tiles_in_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_tiles_in<L>(f43::matrices.bt, c); }
};
template <int L>
struct gradient_tiles {
  using call = tiles_in_call;
  static constexpr transposed matrix{f43::matrices.at};
  [[gnu::always_inline]] static inline void run(call const& c) { transform_tiles_in<L>(matrix.at, c); }
};
template <int L>
struct output_tiles {
  using call = tiles_out_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_tiles_out<L>(f43::matrices.at, c); }
};
template <int L>
struct kernel_tiles {
  using call = kernels_in_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_kernels_in<L>(f43::matrices.g, c); }
};
template <int L>
struct kernel_gradients {
  using call = kernels_out_call;
  static constexpr transposed matrix{f43::matrices.g};
  [[gnu::always_inline]] static inline void run(call const& c) { transform_kernels_out<L>(matrix.at, c); }
};

template <class Width, int Vectors, int Rows>
constexpr void add_products(kernels& k) {
  k.product[Vectors][Rows] = &Width::template run<product<Width::lanes, Rows, Vectors>>;
  if constexpr (Rows > 1) add_products<Width, Vectors, Rows - 1>(k);
}

template <class Width, int Vectors>
constexpr void add_tiles(kernels& k) {
  using sizes = tile_sizes<Width::lanes>;
  k.rows[Vectors] = sizes::rows[Vectors];
  add_products<Width, Vectors, sizes::rows[Vectors]>(k);
  k.outer_product[Vectors] = &Width::template run<outer_product<Width::lanes, sizes::outer_rows, Vectors>>;
  if constexpr (Vectors > 1) add_tiles<Width, Vectors - 1>(k);
}

template <class Width>
constexpr kernels make_kernels() {
  constexpr int L = Width::lanes;
  kernels k{};
  k.lanes = L;
  k.outer_rows = tile_sizes<L>::outer_rows;
  add_tiles<Width, most_vectors>(k);
  k.tiles_in = &Width::template run<input_tiles<L>>;
  k.gradients_in = &Width::template run<gradient_tiles<L>>;
  k.tiles_out = &Width::template run<output_tiles<L>>;
  k.kernels_in = &Width::template run<kernel_tiles<L>>;
  k.kernels_out = &Width::template run<kernel_gradients<L>>;
  return k;
}

template <class Width>
inline constexpr kernels of = make_kernels<Width>();

}  // namespace widths

/// Returns the kernels of an instruction set, which the processor must have.
inline kernels const& kernels_of([[maybe_unused]] instructions set) {
#ifdef __x86_64__
  if (set == instructions::avx512) return widths::of<widths::avx512>;
  if (set == instructions::avx2) return widths::of<widths::avx2>;
#endif
  return widths::of<widths::baseline>;
}

/// The vectors of a product's columns are shared out among tiles: two each, and three in the last where they are odd in
/// number. A lone one has a tile of its own.
struct column_tile {
  int first;
  int vectors;
};
constexpr int column_tiles(int vectors) { return vectors <= 3 ? 1 : vectors / 2; }
constexpr column_tile column_tile_at(int tile, int vectors) {
  return {2 * tile, tile + 1 == column_tiles(vectors) ? vectors - 2 * tile : 2};
}

/// Sums over rows have no packed factor, so their tiles may be as wide as goes: three vectors, and two where one would
/// be left over.
constexpr int next_outer_vectors(int left) { return left <= 3 ? left : left == 4 ? 2 : 3; }

/// Rows are shared out among tiles as evenly as goes: 13 with at most 6 are 5, 4 and 4.
constexpr int next_rows(int left, int most) {
  int const tiles = (left + most - 1) / most;
  return (left + tiles - 1) / tiles;
}

}  // namespace dsl::cpu
