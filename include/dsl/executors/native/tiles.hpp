// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/tile_transforms.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// A range of tiles of a tensor in channel blocks, numbered through all images: [first, first + count). Tile (i, j)
/// of an image begins at row i * step - top and column j * step - left.
struct tile_range {
  int first = 0;
  int count = 0;
  int rows = 0;  // tiles of an image
  int columns = 0;
  int step = 0;
  int top = 0;
  int left = 0;
};

/// A tensor that tiles are read from or written to: consecutive channel blocks of height * width vectors each.
struct tiled_tensor {
  float* data = nullptr;
  long long picture = 0;  // floats from one to the next
  int height = 0;
  int width = 0;
  int blocks = 0;
};

/// Calls f(channel block of an image, its index, first row, first column, number in the range) for all tiles in all
/// blocks, in the order of memory: image by image, block by block.
template <int L, class F>
[[gnu::always_inline]] inline void for_each_tile(tiled_tensor const& x, tile_range const& t, F f) {
  int const each = t.rows * t.columns;
  long long const plane = 1LL * x.height * x.width * L;
  for (int done = 0; done < t.count;) {
    int const picture = (t.first + done) / each, begin = (t.first + done) % each;
    int const count = each - begin < t.count - done ? each - begin : t.count - done;
    float* at = x.data + picture * x.picture;
    for (int b = 0; b < x.blocks; ++b, at += plane) {
      int i = begin / t.columns, j = begin % t.columns;
      for (int k = 0; k < count; ++k) {
        f(at, b, i * t.step - t.top, j * t.step - t.left, done + k);
        if (++j == t.columns) j = 0, ++i;
      }
    }
    done += count;
  }
}

/// Transformed tiles. Product p of tile k in block b is at data + p * product + (b * tiles + k) * L.
struct transformed_tiles {
  float* data = nullptr;
  long long product = 0;
  int tiles = 0;
};

/// Transforms the tiles of an input (B^T x B) or those of an output's gradient (A dy A^T), which do not overlap.
/// Numbers outside of the image are 0.
struct tiles_in_call {
  tiled_tensor from;
  tile_range tiles;
  transformed_tiles to;
};

/// Returns p. The compiler cannot see this, so it does not compute dozens of addresses in advance and keep them.
template <class T>
[[gnu::always_inline]] inline T* opaque(T* p) {
  asm("" : "+r"(p));
  return p;
}

/// Copies a tile that extends beyond an image's edge, with zeros outside. For a column outside, it reads the nearest
/// column inside, and a mask makes the numbers 0.
template <int L, int Size>
[[gnu::always_inline]] inline void copy_edge(tiled_tensor const& x, float const* picture, int row, int column,
                                             float* to) {
  using floats = typename vector<L>::type;
  using ints = typename vector<L>::ints;
  ints mask[Size];
  long long at[Size];
#pragma GCC unroll 8
  for (int j = 0; j < Size; ++j) {
    int const k = column + j, inside = k < 0 ? 0 : k < x.width ? k : x.width - 1;
    at[j] = 1LL * inside * L;
    mask[j] = ints{} - (k == inside ? 1 : 0);
  }
  for (int i = 0; i < Size; ++i, to += Size * L) {
    int const k = row + i;
    bool const there = k >= 0 && k < x.height;
    float const* const from = picture + 1LL * (there ? k : 0) * x.width * L;
#pragma GCC unroll 8
    for (int j = 0; j < Size; ++j) {
      floats v{};
      if (there) load<L>(v, from + at[j]);
      v = reinterpret_cast<floats>(reinterpret_cast<ints>(v) & mask[j]);
      store<L>(to + j * L, v);
    }
  }
}

template <int L, class Matrix>
[[gnu::always_inline]] inline void transform_tiles_in(tiles_in_call const& c) {
  constexpr int Rows = Matrix::map.rows, Columns = Matrix::map.columns;
  using floats = typename vector<L>::type;
  float edge[Columns * Columns * L];
  for_each_tile<L>(
      c.from, c.tiles, [&](float* picture, int b, int row, int column, int k) __attribute__((always_inline)) {
        // prefetch the same tile of the next plane, as loading it takes longer than transforming a tile
        float const* const next = opaque(
            picture + (1LL * (c.from.height + (row < 0 ? 0 : row)) * c.from.width + (column < 0 ? 0 : column)) * L);
        for (int i = 0; i < c.tiles.step; ++i)
#pragma GCC unroll 4
          for (int j = 0; j < 4 * L; j += 16) __builtin_prefetch(next + 1LL * i * c.from.width * L + j);
        float const* x = picture + (1LL * row * c.from.width + column) * L;
        long long x_row = 1LL * c.from.width * L;
        if (row < 0 || column < 0 || row + Columns > c.from.height || column + Columns > c.from.width) {
          copy_edge<L, Columns>(c.from, picture, row, column, edge);
          x = edge;
          x_row = Columns * L;
        }
        float* const to = opaque(c.to.data + (1LL * b * c.to.tiles + k) * L);
        transform<L, Matrix>([&](int i, int j, floats& v)
                                 __attribute__((always_inline)) { load<L>(v, x + i * x_row + j * L); },
                             [&](int i, int j, floats const& v)
                                 __attribute__((always_inline)) { store<L>(to + (i * Rows + j) * c.to.product, v); });
      });
}

/// Transforms products (A^T m A) to tiles of an output. Optionally adds a bias and the output's earlier numbers, and
/// applies relu.
struct tiles_out_call {
  transformed_tiles from;
  tiled_tensor to;
  tile_range tiles;
  float const* bias = nullptr;  // one vector per block; null: none
  bool accumulate = false;
  bool relu = false;
  double* moments = nullptr;  // 2 L sums per block, to which the results and their squares are added; null: none
};

template <int L, class Matrix>
[[gnu::always_inline]] inline void transform_tiles_out(tiles_out_call const& c) {
  constexpr int Columns = Matrix::map.columns;
  using floats = typename vector<L>::type;
  for_each_tile<L>(c.to, c.tiles,
                   [&](float* picture, int b, int row, int column, int k) __attribute__((always_inline)) {
                     floats bias{};
                     if (c.bias) load<L>(bias, c.bias + b * L);
                     float const* const from = opaque(c.from.data + (1LL * b * c.from.tiles + k) * L);
                     float* const to = picture + (1LL * row * c.to.width + column) * L;
                     typename vector<L>::doubles sums[4] = {};
                     double* const moments = c.moments ? c.moments + 2LL * b * L : nullptr;
                     if (moments) __builtin_memcpy(&sums, moments, sizeof sums);
                     int const rows = c.to.height - row, columns = c.to.width - column;
                     transform<L, Matrix>(
                         [&](int i, int j, floats& v)
                             __attribute__((always_inline)) { load<L>(v, from + (i * Columns + j) * c.from.product); },
                         [&](int i, int j, floats const& made) __attribute__((always_inline)) {
                           if (i >= rows || j >= columns) return;
                           float* const at = to + (1LL * i * c.to.width + j) * L;
                           floats v = made + bias, old;
                           if (c.accumulate) {
                             load<L>(old, at);
                             v += old;
                           }
                           if (c.relu) clamp_below<L>(v);
                           store<L>(at, v);
                           if (moments) add_moments<L>(sums, at);
                         });
                     if (moments) __builtin_memcpy(moments, &sums, sizeof sums);
                   });
}

/// Transforms kernels, each for a vector of outputs: G w G^T. Kernel i has a vector for each of its places.
struct kernels_in_call {
  float const* from;  // kernel i, place j: from + (i * places + j) * L
  float* to;          // kernel i, product p: to + i * L + p * product
  long long product;
  int count;
};

template <int L, class Matrix>
[[gnu::always_inline]] inline void transform_kernels_in(kernels_in_call const& c) {
  constexpr int Rows = Matrix::map.rows, Columns = Matrix::map.columns;
  using floats = typename vector<L>::type;
  float const* from = c.from;
  for (int n = 0; n < c.count; ++n, from += Columns * Columns * L) {
    float* const to = opaque(c.to + n * L);
    transform<L, Matrix>([&](int i, int j, floats& v)
                             __attribute__((always_inline)) { load<L>(v, from + (i * Columns + j) * L); },
                         [&](int i, int j, floats const& v)
                             __attribute__((always_inline)) { store<L>(to + (i * Rows + j) * c.product, v); });
  }
}

/// Transforms sums of products, added up over `parts` of the batch in order, to the gradient of the kernels (out, in,
/// R, R) of one input and L outputs: G^T u G.
struct kernels_out_call {
  float const* sums;  // product p, part q: sums + q * part + p * product
  long long product;
  long long part;
  int parts;
  float* to;      // the first kernel's
  long long out;  // floats from one output to the next
  int count;      // how many of the L outputs exist
};

template <int L, class Matrix>
[[gnu::always_inline]] inline void transform_kernels_out(kernels_out_call const& c) {
  constexpr int Rows = Matrix::map.rows, Columns = Matrix::map.columns;
  using floats = typename vector<L>::type;
  float w[Rows * Rows * L];
  float const* const sums = opaque(c.sums);
  transform<L, Matrix>(
      [&](int i, int j, floats& v) __attribute__((always_inline)) {
        float const* const from = sums + (i * Columns + j) * c.product;
        load<L>(v, from);
        for (int q = 1; q < c.parts; ++q) {
          floats more;
          load<L>(more, from + q * c.part);
          v += more;
        }
      },
      [&](int i, int j, floats const& v) __attribute__((always_inline)) { store<L>(w + (i * Rows + j) * L, v); });
  for (int l = 0; l < c.count; ++l)
    for (int i = 0; i < Rows * Rows; ++i) c.to[l * c.out + i] = w[i * L + l];
}

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
