// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_heads.hpp>
#include <dsl/executors/native/attention_windows.hpp>
#include <dsl/executors/native/cpu_device.hpp>

#include <cstring>
#include <limits>

namespace dsl::native_cpu::TYPENET_MODE {

/// Computes attention one block of keys after the other, with the largest score and the sum so far (Milakov &
/// Gimelshein 2018; FlashAttention, Dao et al. 2022), so that no memory grows with the square of the tokens. An item is
/// a share of the queries of one head, or of the windows.
class attention_forward {
 public:
  attention_forward(cpu_device& at, host::bound_step<float> const& s)
      : at_(at),
        step_(s),
        heads_(at.kernels(), s, 64),
        windows_(heads_, s),
        chunks_(least(wanted_parts(), windows_.count())),
        parts_(windows_.count() > 1 ? 1 : least(wanted_parts(), heads_.query_blocks_)) {
    at.need(spare() + heads_.copied(), 0);
  }

  void operator()() const {
    at_.pool().run(step_.x.batch * heads_.heads_ * chunks_ * parts_, [this](int i, int thread) {
      int const part = i % parts_, chunk = i / parts_ % chunks_, which = i / parts_ / chunks_;
      int const head = which % heads_.heads_, n = which / heads_.heads_;
      float* const memory = at_.scratch(thread);
      attention_windows::biases biases(windows_, step_, n, head, memory + bias());
      share const windows(windows_.count(), chunk, chunks_);
      attention_heads here = heads_;
      for (int w = windows.begin; w < windows.end; ++w) {
        here.look_at(windows_.pixels(w));
        run(here, n, head, {heads_.query_blocks_, part, parts_}, biases.of(w), memory);
      }
    });
    if (step_.ends_block) host::zero_rest_of_block(step_.to);
  }

 private:
  static constexpr int least_items = 16;  // the bits do not depend on it
  int wanted_parts() const { return (least_items - 1) / (step_.x.batch * heads_.heads_) + 1; }

  // A thread's memory: packed keys and values, queries, sums, scores, the numbers of rows, biases, copies of tokens.
  long long values() const { return heads_.packed(); }
  long long queries() const { return values() + heads_.packed(); }
  long long sums() const { return queries() + 1LL * heads_.most_queries() * heads_.padded(); }
  long long scores() const { return sums() + 1LL * heads_.most_queries() * heads_.padded(); }
  long long numbers() const { return scores() + heads_.most_queries() * heads_.score_row(); }
  long long row_numbers() const { return 1LL * heads_.row_tiles(heads_.most_queries()) * most_score_rows; }
  long long bias() const { return cpu_device::rounded(numbers() + 2 * row_numbers()); }
  long long spare() const { return cpu_device::rounded(bias() + windows_.bias_floats()); }

  void run(attention_heads const& h, int n, int head, share const& blocks, float const* biases, float* memory) const {
    float* const spare_at = memory + spare();
    int const seen = h.seen_blocks(h.queries(blocks.end - 1).end);
    h.pack_columns(step_.x, n, head, 1, seen, memory, spare_at);
    h.pack_rows(step_.x, n, head, 2, seen, memory + values(), spare_at);
    for (int q = blocks.begin; q < blocks.end; ++q) {
      share const rows = h.queries(q);
      int const count = rows.end - rows.begin;
      h.read(step_.x, n, head, 0, rows.begin, count, h.score_scale(), memory + queries(), spare_at);
      attend(rows, biases, memory);
      float const* const sum = memory + numbers() + row_numbers();
      h.for_each_tile(count, [&](int tile, int r, int tile_rows) {
        float factors[most_score_rows];
        for (int i = 0; i < tile_rows; ++i) factors[i] = 1 / sum[tile * most_score_rows + i];
        h.write(memory + sums() + 1LL * r * h.padded(), step_.to, n, head, 0, rows.begin + r, tile_rows, factors, 0,
                false, spare_at);
      });
    }
  }

  /// Sums the weighted values and the weights of a block of queries.
  void attend(share const& rows, float const* biases, float* memory) const {
    attention_heads const& h = heads_;
    int const count = rows.end - rows.begin;
    float *const largest = memory + numbers(), *const sum = largest + row_numbers();
    for (long long i = 0; i < row_numbers(); ++i) largest[i] = -std::numeric_limits<float>::infinity(), sum[i] = 0;
    std::memset(memory + sums(), 0, sizeof(float) * static_cast<unsigned>(count * h.padded()));
    for (int b = 0; b < h.seen_blocks(rows.end); ++b) {
      h.multiply_keys(memory + queries(), rows.begin, count, memory, b, memory + scores(), biases);
      h.for_each_tile(count, [&](int tile, int r, int tile_rows) {
        float shrink[most_score_rows];
        score_rows const at = h.rows_at(memory + scores(), rows.begin, r, tile_rows, b);
        if (at.vectors > 0)
          at_.kernels().softmax({.at = at,
                                 .largest = largest + tile * most_score_rows,
                                 .sum = sum + tile * most_score_rows,
                                 .shrink = shrink,
                                 .sums = memory + sums() + 1LL * r * h.padded(),
                                 .sums_row = h.padded(),
                                 .sums_vectors = h.vectors_});
      });
      h.multiply_values(memory + scores(), rows.begin, count, memory + values(), b, memory + sums());
    }
  }

  cpu_device& at_;
  host::bound_step<float> const& step_;
  attention_heads heads_;
  attention_windows windows_;
  int chunks_;  // of windows
  int parts_;   // of each head's queries
};

}  // namespace dsl::native_cpu::TYPENET_MODE
