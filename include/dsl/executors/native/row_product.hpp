// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/kernels.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The second factor of products whose first factor has rows in memory: `depth` rows of `columns` numbers, both
/// multiples of a vector, packed for the matrix kernel in tiles of columns.
class row_product {
 public:
  row_product(kernels const& k, int depth, int columns)
      : kernels_(&k), depth_(depth), vectors_(columns / k.lanes), tiles_(column_tiles(vectors_)) {}

  long long packed() const { return 1LL * depth_ * vectors_ * kernels_->lanes; }
  /// Returns the number of items that pack() and multiply_tile() can be called for.
  int tiles() const { return tiles_; }
  /// Packs a tile of columns; number(row, column) gives the factor's numbers.
  template <class F>
  void pack(int tile, F const& number, float* to) const {
    int const L = kernels_->lanes;
    column_tile const t = column_tile_at(tile, vectors_);
    float* at = to + 1LL * t.first * L * depth_;
    for (int k = 0; k < depth_; ++k)
      for (int j = t.first * L; j < (t.first + t.vectors) * L; ++j) *at++ = number(k, j);
  }

  /// The first factor and the result of a product C = start + A B. Without `start_row`, all rows start from one.
  struct rows {
    float const* a;
    long long a_row;
    float const* start;
    long long start_row;
    float* c;
    long long c_row;
    int count;
  };
  /// Computes all columns of some rows.
  void multiply(rows const& r, float const* packed) const {
    static constexpr long long here = 0;
    int const L = kernels_->lanes;
    for (int tile = 0; tile < tiles_; ++tile) {
      column_tile const t = column_tile_at(tile, vectors_);
      long long const column = 1LL * t.first * L;
      for (int i = 0, count; i < r.count; i += count) {
        count = next_rows(r.count - i, kernels_->rows[t.vectors]);
        kernels_->product[t.vectors][count]({.a = r.a + i * r.a_row,
                                             .a_row = r.a_row,
                                             .a_block = L,
                                             .taps = &here,
                                             .tap_count = 1,
                                             .blocks = depth_ / L,
                                             .b = packed + column * depth_,
                                             .start = r.start + i * r.start_row + column,
                                             .start_row = r.start_row,
                                             .start_vector = L,
                                             .c = r.c + i * r.c_row + column,
                                             .c_row = r.c_row,
                                             .c_vector = L,
                                             .relu = false});
      }
    }
  }

 private:
  kernels const* kernels_;
  int depth_;
  int vectors_;
  int tiles_;
};

/// A product C = A^T B of two factors whose rows are summed in order: A has `a_columns` columns, B `b_columns`, both
/// multiples of a vector.
class transposed_product {
 public:
  transposed_product(kernels const& k, int a_columns, int b_columns)
      : kernels_(&k), columns_(b_columns), items_(a_columns / k.outer_rows) {}

  long long result() const { return 1LL * items_ * kernels_->outer_rows * columns_; }
  int items() const { return items_; }
  /// Computes the rows of C that belong to an item.
  void run(int item, float const* a, long long a_row, float const* b, int count, float* c) const {
    int const L = kernels_->lanes, first = item * kernels_->outer_rows;
    for (int column = 0, vectors; column < columns_; column += vectors * L) {
      vectors = next_outer_vectors((columns_ - column) / L);
      kernels_->outer_product[vectors]({.a = a + first,
                                        .a_line = 0,
                                        .a_step = a_row,
                                        .b = b + column,
                                        .b_line = 0,
                                        .b_step = columns_,
                                        .b_vector = L,
                                        .lines = 1,
                                        .steps = count,
                                        .c = c + 1LL * first * columns_ + column,
                                        .c_row = columns_,
                                        .fresh = true});
    }
  }

 private:
  kernels const* kernels_;
  int columns_;
  int items_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
