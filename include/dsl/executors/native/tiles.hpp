// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/native/tile_transforms.hpp>

namespace dsl::cpu {

/// Tiles of a tensor in channel blocks, counted through all pictures: first ... first + count. Tile (i, j) of a picture
/// begins at row i * step - top, column j * step - left.
struct tile_range {
  int first = 0;
  int count = 0;
  int rows = 0;  // tiles of a picture
  int columns = 0;
  int step = 0;
  int top = 0;
  int left = 0;
};

/// A tensor that tiles are cut from or written to: one channel block after the other, `area` vectors each.
struct tiled_tensor {
  float* data = nullptr;
  long long picture = 0;  // floats from one to the next
  int height = 0;
  int width = 0;
  int blocks = 0;
};

/// Calls f(vectors of the tile's first row and column, in the picture of block b; row, column of it; number in the
/// range) for each tile. The address is only valid where the tile lies within the picture.
template <int L, class F>
[[gnu::always_inline]] inline void for_each_tile(tiled_tensor const& x, int b, tile_range const& t, F f) {
  int const each = t.rows * t.columns;
  int picture = t.first / each, i = t.first % each / t.columns, j = t.first % t.columns;
  for (int k = 0; k < t.count; ++k) {
    int const row = i * t.step - t.top, column = j * t.step - t.left;
    f(x.data + picture * x.picture + (1LL * b * x.height * x.width + 1LL * row * x.width + column) * L, row, column, k);
    if (++j < t.columns) continue;
    j = 0;
    if (++i < t.rows) continue;
    i = 0;
    ++picture;
  }
}

/// Where transformed tiles are: product p, block b, tile k: data + p * product + (b * tiles + k) * L.
struct transformed_tiles {
  float* data = nullptr;
  long long product = 0;
  int tiles = 0;
};

/// B^T x B of an input's tiles, or A dy A^T of those of an output's gradient, which overlap in nothing. What lies
/// outside of the picture is 0.
struct tiles_in_call {
  tiled_tensor from;
  tile_range tiles;
  transformed_tiles to;
};

template <int L, int Rows, int Columns>
[[gnu::always_inline]] inline void transform_tiles_in(double const (&m)[Rows][Columns], tiles_in_call const& c) {
  using floats = typename vector<L>::type;
  for (int b = 0; b < c.from.blocks; ++b)
    for_each_tile<L>(c.from, b, c.tiles, [&](float* at, int row, int column, int k) __attribute__((always_inline)) {
      floats const* x = reinterpret_cast<floats const*>(at);  // auto would forget that it is not aligned
      long long x_row = c.from.width;
      floats inside[Columns * Columns];
      if (row < 0 || column < 0 || row + Columns > c.from.height || column + Columns > c.from.width) {
        for (int i = 0; i < Columns; ++i)
          for (int j = 0; j < Columns; ++j) {
            bool const there = row + i >= 0 && row + i < c.from.height && column + j >= 0 && column + j < c.from.width;
            inside[i * Columns + j] = there ? x[i * x_row + j] : floats{};
          }
        x = inside;
        x_row = Columns;
      }
      transform<L>(m, x, x_row, c.to.data + (1LL * b * c.to.tiles + k) * L, Rows * c.to.product, c.to.product);
    });
}

/// A^T m A of products: tiles of an output, where a bias, what is there already, and a relu may come in.
struct tiles_out_call {
  transformed_tiles from;
  tiled_tensor to;
  tile_range tiles;
  float const* bias = nullptr;  // a vector a block; null: none
  bool accumulate = false;
  bool relu = false;
};

template <int L, int Rows, int Columns>
[[gnu::always_inline]] inline void transform_tiles_out(double const (&m)[Rows][Columns], tiles_out_call const& c) {
  using floats = typename vector<L>::type;
  for (int b = 0; b < c.to.blocks; ++b) {
    floats bias{};
    if (c.bias) load<L>(bias, c.bias + b * L);
    for_each_tile<L>(c.to, b, c.tiles, [&](float* at, int row, int column, int k) __attribute__((always_inline)) {
      floats x[Columns * Columns];
      float y[Rows * Rows * L];
      for (int p = 0; p < Columns * Columns; ++p)
        load<L>(x[p], c.from.data + p * c.from.product + (1LL * b * c.from.tiles + k) * L);
      transform<L>(m, x, Columns, y, Rows * L, L);
      int const rows = c.to.height - row < Rows ? c.to.height - row : Rows;
      int const columns = c.to.width - column < Rows ? c.to.width - column : Rows;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          float* const to = at + (1LL * i * c.to.width + j) * L;
          floats v, old;
          load<L>(v, y + (i * Rows + j) * L);
          v += bias;
          if (c.accumulate) {
            load<L>(old, to);
            v += old;
          }
          if (c.relu) clamp_below<L>(v);
          store<L>(to, v);
        }
    });
  }
}

/// G w G^T of kernels (out, in, R, R) for a vector of out's: k counts in's. `turned` gives the kernels of the data
/// gradient: out and in change places, and so do first and last rows and columns.
struct kernels_in_call {
  float const* kernels;
  int in;   // of the parameter, not of the pass
  int out;  // as well
  bool turned;
  int k;       // of the pass: which input
  int column;  // of the pass: the first of L outputs
  float* to;
  long long product;
};

template <int L, int Rows, int Columns>
[[gnu::always_inline]] inline void transform_kernels_in(double const (&m)[Rows][Columns], kernels_in_call const& c) {
  using floats = typename vector<L>::type;
  float w[Columns * Columns * L];
  constexpr int area = Columns * Columns;
  int const inputs = c.turned ? c.out : c.in, outputs = c.turned ? c.in : c.out;
  for (int l = 0; l < L; ++l) {
    int const o = c.column + l;
    bool const there = c.k < inputs && o < outputs;  // not so in a block's unused places
    float const* const from = c.kernels + (c.turned ? 1LL * c.k * c.in + o : 1LL * o * c.in + c.k) * area;
    for (int i = 0; i < area; ++i) w[i * L + l] = there ? from[c.turned ? area - 1 - i : i] : 0.0F;
  }
  transform<L>(m, reinterpret_cast<floats const*>(w), Columns, c.to, Rows * c.product, c.product);
}

/// G^T u G of sums of products, added up over `parts` of the batch in their order: the gradient of kernels (out, in, R,
/// R) for one in and L out's.
struct kernels_out_call {
  float const* sums;  // product p, part q: sums + q * part + p * product
  long long product;
  long long part;
  int parts;
  float* to;      // the first kernel's
  long long out;  // floats from one out to the next
  int count;      // of the L that there are
};

template <int L, int Rows, int Columns>
[[gnu::always_inline]] inline void transform_kernels_out(double const (&m)[Rows][Columns], kernels_out_call const& c) {
  using floats = typename vector<L>::type;
  floats x[Columns * Columns];
  float w[Rows * Rows * L];
  for (int p = 0; p < Columns * Columns; ++p) {
    load<L>(x[p], c.sums + p * c.product);
    for (int q = 1; q < c.parts; ++q) {
      floats more;
      load<L>(more, c.sums + q * c.part + p * c.product);
      x[p] += more;
    }
  }
  transform<L>(m, x, Columns, w, Rows * L, L);
  for (int l = 0; l < c.count; ++l)
    for (int i = 0; i < Rows * Rows; ++i) c.to[l * c.out + i] = w[i * L + l];
}

}  // namespace dsl::cpu
