// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/native/attention_softmax.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/operations/table.hpp>
#include <dsl/operations/window_attention/host.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The matrix products that both passes of attention use, and the sizes of their heads and blocks. Scores exist for a
/// block of queries and a block of keys, which fit into the second-level cache.
class attention_products {
 public:
  attention_products(kernels const& k, host::bound_step<float> const& s, int most_queries)
      : kernels_(k),
        causal_(s.node->kind == op::causal_attention),
        heads_(s.node->groups),
        channels_(s.x.shape.channels / 3),
        width_(channels_ / heads_),
        vectors_(blocks_of(width_, k.lanes)),
        tokens_(static_cast<int>(is_divided(*s.node) ? 1LL * s.node->window.height * s.node->window.width
                                                     : s.x.shape.area())),
        query_blocks_((tokens_ + most_queries - 1) / most_queries),
        exact_scale_(is_divided(*s.node) ? plain::score_factor(*s.node)
                                         : 1 / detail::sqrt(static_cast<double>(width_))) {}

  /// Whether attention is between the tokens of a window instead of all.
  static constexpr bool is_divided(node const& n) {
    return n.kind == op::window_attention || n.kind == op::bounded_window_attention;
  }

  int lanes() const { return kernels_.lanes; }
  /// Returns how many floats a head's token takes, with zeros up to whole vectors.
  int padded() const { return vectors_ * lanes(); }
  int key_blocks() const { return (tokens_ + block_keys - 1) / block_keys; }
  int keys(int block) const { return least(block_keys, tokens_ - block * block_keys); }
  int key_vectors(int block) const { return blocks_of(keys(block), lanes()); }
  share queries(int block) const { return {tokens_, block, query_blocks_}; }
  /// Returns the most queries of a block.
  int most_queries() const { return (tokens_ + query_blocks_ - 1) / query_blocks_; }
  /// Returns how many key blocks the queries before `end` see.
  int seen_blocks(int end) const { return causal_ ? (end + block_keys - 1) / block_keys : key_blocks(); }
  /// Returns the floats between rows of scores. The number is not a power of 2, because otherwise the rows of a column
  /// would compete for the same lines of the cache.
  long long score_row() const { return least(block_keys, blocks_of(tokens_, lanes()) * lanes()) + lanes(); }
  /// Returns how many floats a head's packed keys or values take.
  long long packed() const { return 1LL * blocks_of(tokens_, lanes()) * lanes() * padded(); }
  /// Returns where block b begins in the packed keys or values.
  long long packed_block(int b) const { return 1LL * b * block_keys * padded(); }
  int most_rows() const { return kernels_.rows[2]; }
  int row_tiles(int rows) const { return (rows + most_rows() - 1) / most_rows(); }

  /// Returns how many vectors of a block's keys the queries before `end` see.
  int seen_vectors(int end, int block) const {
    int const seen = end - block * block_keys;
    return !causal_ ? key_vectors(block) : seen > 0 ? blocks_of(least(seen, keys(block)), lanes()) : 0;
  }
  /// Returns rows [r, r + rows) of the scores of queries from `first` on and a block of keys.
  score_rows rows_at(float* scores, int first, int r, int rows, int block) const {
    return {.scores = scores + r * score_row(),
            .row = score_row(),
            .rows = rows,
            .vectors = seen_vectors(first + r + rows, block),
            .seen = causal_ ? first + r + 1 - block * block_keys : keys(block),
            .causal = causal_};
  }
  /// Divides `rows` rows into tiles, and calls f(tile, first row, number of rows) for each.
  template <class F>
  void for_each_tile(int rows, F const& f) const {
    for (int tile = 0, r = 0, count; r < rows; r += count, ++tile) {
      count = next_rows(rows - r, most_rows());
      f(tile, r, count);
    }
  }

  /// Returns how many floats the biases of all scores take. Those of a block of keys are in rows of score_row() floats.
  long long biases() const { return key_blocks() * biases_of_block(); }
  long long biases_of_block() const { return tokens_ * score_row(); }

  /// Computes scores = queries keys^T + biases for `rows` queries from `first` on, which have been read, and the keys
  /// of a block that they see. The factors of a column's tiles fit into the first-level cache.
  void multiply_keys(float const* queries, int first, int rows, float const* packed, int block, float* scores,
                     float const* biases = nullptr) const {
    float const* const start = biases ? biases + block * biases_of_block() + first * score_row() : nullptr;
    int const all = key_vectors(block);
    for (int t = 0; t < column_tiles(all); ++t) {
      column_tile const tile = column_tile_at(t, all);
      int const column = tile.first * lanes(), unseen = block * block_keys + column - first;
      int const skipped = causal_ && unseen > 0 ? unseen : 0;
      if (skipped >= rows) break;
      multiply(rows - skipped, tile.vectors, queries + 1LL * skipped * padded(), padded(), vectors_,
               packed + packed_block(block) + 1LL * column * padded(),
               start ? start + skipped * score_row() + column : nullptr, scores + skipped * score_row() + column,
               score_row());
    }
  }
  /// Adds the products of weights and values to the sums, for the same queries.
  void multiply_values(float const* weights, int first, int rows, float const* packed, int block, float* sums) const {
    int const L = lanes(), all = key_vectors(block), together = 128 / L;  // keys whose values stay in the cache
    for (int t = 0; t < column_tiles(vectors_); ++t) {
      column_tile const tile = column_tile_at(t, vectors_);
      float const* const values = packed + packed_block(block) + 1LL * tile.first * L * all * L;
      for (int k = 0; k < all; k += together)
        for_each_tile(rows, [&](int, int r, int count) {
          int const depth = least(seen_vectors(first + r + count, block), k + together) - k;
          if (depth <= 0) return;
          float* const to = sums + 1LL * r * padded() + 1LL * tile.first * L;
          multiply(count, tile.vectors, weights + r * score_row() + 1LL * k * L, score_row(), depth,
                   values + 1LL * k * L * tile.vectors * L, to, to, padded());
        });
    }
  }
  /// Adds weights^T rows to the sums, for `count` rows of both: the sums of a tile, with one row for each of outer_rows
  /// keys.
  void multiply_transposed(float const* weights, int count, float const* rows, float* sums) const {
    for (int column = 0, vectors; column < vectors_; column += vectors) {
      vectors = next_outer_vectors(vectors_ - column);
      kernels_.outer_product[vectors]({.a = weights,
                                       .a_line = 0,
                                       .a_step = score_row(),
                                       .b = rows + 1LL * column * lanes(),
                                       .b_line = 0,
                                       .b_step = padded(),
                                       .b_vector = lanes(),
                                       .lines = 1,
                                       .steps = count,
                                       .c = sums + 1LL * column * lanes(),
                                       .c_row = padded(),
                                       .fresh = false});
    }
  }

  static constexpr int block_keys = 256;
  /// Powers of 2 are cheaper than those of e, so scores are multiplied by log2(e).
  float score_scale() const { return static_cast<float>(1.4426950408889634 * exact_scale_); }
  float scale() const { return static_cast<float>(exact_scale_); }
  static constexpr float log_of_2 = 0.693147181F;

  kernels const& kernels_;
  bool causal_;
  int heads_;
  int channels_;  // of the output
  int width_;     // of a head
  int vectors_;   // of a head
  int tokens_;    // that see each other
  int query_blocks_;
  double exact_scale_;

 private:
  /// Computes C = start + A B in tiles of as many rows as the kernel takes. B has depth * lanes() rows, each of
  /// `vectors` vectors.
  void multiply(int rows, int vectors, float const* a, long long a_row, int depth, float const* b, float const* start,
                float* c, long long c_row) const {
    static constexpr float zeros[16] = {};
    static constexpr long long here = 0;
    for (int r = 0, count; r < rows; r += count) {
      count = next_rows(rows - r, kernels_.rows[vectors]);
      kernels_.product[vectors][count]({.a = a + r * a_row,
                                        .a_row = a_row,
                                        .a_block = lanes(),
                                        .taps = &here,
                                        .tap_count = 1,
                                        .blocks = depth,
                                        .b = b,
                                        .start = start ? start + r * c_row : zeros,
                                        .start_row = start ? c_row : 0,
                                        .start_vector = start ? lanes() : 0,
                                        .c = c + r * c_row,
                                        .c_row = c_row,
                                        .c_vector = lanes(),
                                        .relu = false});
    }
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE
