// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_heads.hpp>
#include <dsl/executors/native/attention_windows.hpp>
#include <dsl/executors/native/cpu_device.hpp>

#include <cstring>
#include <limits>

namespace dsl::native_cpu::TYPENET_MODE {

/// The gradient of attention; operations/attention/host.hpp has the equations. For a block of queries, a first pass
/// over the keys computes weights and their gradients, relative to the largest score so far, and a second pass computes
/// the gradients of queries, keys and values from them. Both passes need memory for a block of queries times all keys.
/// An item is a head, or a part of its queries if there are few heads: then gradients of keys and values are partial
/// sums, which are added in order. In window_attention, an item is a chunk of the windows of a head, whose gradients of
/// biases are partial sums.
class attention_backward {
 public:
  attention_backward(cpu_device& at, host::bound_step<float> const& s)
      : at_(at),
        step_(s),
        heads_(at.kernels(), s, 64),
        windows_(heads_, s),
        chunks_(1),
        parts_(1),
        of_inputs_(s.to.shape.channels == 3 * s.dy.shape.channels),
        of_biases_(s.node->kind == op::window_attention || !of_inputs_) {
    constexpr int least_items = 8;  // does not depend on the threads, because the bits depend on it
    constexpr long long most_floats = 4LL << 20;
    int const all = s.x.batch * heads_.heads_;
    chunks_ = least((least_items - 1) / all + 1, windows_.count());
    while (!windows_.offsets() && parts_ < 4 && parts_ < heads_.query_blocks_ && all * parts_ < least_items &&
           2 * all * (parts_ + 1) * heads_.packed() <= most_floats)
      ++parts_;
    long long const sums = parts_ > 1 ? 2 * all * parts_ * heads_.packed() : 0;
    at.need(spare() + heads_.copied(), sums + 1LL * all * chunks_ * windows_.offsets());
  }

  void operator()() const {
    int const heads = heads_.heads_;
    if (windows_.offsets()) return run_windows();
    at_.pool().run(step_.x.batch * heads * parts_, [&](int i, int thread) {
      float* const memory = at_.scratch(thread);
      float* const sums = parts_ > 1 ? at_.shared() + 2LL * i * heads_.packed() : memory + key_sums();
      run(heads_, i / parts_ / heads, i / parts_ % heads, i % parts_, nullptr, memory, sums);
    });
    if (parts_ > 1)
      at_.pool().run(step_.x.batch * heads, [&](int i, int thread) {
        float* const sums = at_.shared() + 2LL * i * parts_ * heads_.packed();
        for (int part = 1; part < parts_; ++part)
          for (long long k = 0; k < 2 * heads_.packed(); ++k) sums[k] += sums[2 * part * heads_.packed() + k];
        write(heads_, i / heads, i % heads, sums, at_.scratch(thread) + spare());
      });
    if (step_.ends_block) host::zero_rest_of_block(step_.to);
  }

 private:
  // A thread's memory: keys, values, keys by rows; queries and gradients of outputs; sums for queries; weights and
  // their gradients for all keys; the numbers of rows; sums for keys and values; biases and their gradients; copies of
  // tokens.
  long long block() const { return 1LL * heads_.most_queries() * heads_.padded(); }
  long long scores_of_block() const { return heads_.most_queries() * heads_.score_row(); }
  long long scores() const { return heads_.key_blocks() * scores_of_block(); }
  long long row_numbers() const { return 1LL * heads_.row_tiles(heads_.most_queries()) * most_score_rows; }
  long long values() const { return heads_.packed(); }
  long long key_rows() const { return 2 * heads_.packed(); }
  long long queries() const { return 3 * heads_.packed(); }
  long long gradients() const { return queries() + block(); }
  long long query_sums() const { return gradients() + block(); }
  long long weights() const { return query_sums() + block(); }
  long long weight_gradients() const { return weights() + scores(); }
  long long finished() const { return weight_gradients() + scores(); }
  long long slopes() const { return finished() + scores_of_block(); }
  long long numbers() const { return slopes() + scores_of_block(); }
  long long key_sums() const { return cpu_device::rounded(numbers() + (3LL + heads_.key_blocks()) * row_numbers()); }
  long long bias() const { return key_sums() + (parts_ > 1 ? 0 : 2 * heads_.packed()); }
  long long bias_gradients() const { return bias() + windows_.bias_floats(); }
  long long spare() const { return cpu_device::rounded(bias_gradients() + windows_.gradient_floats()); }

  void run_windows() const {
    int const offsets = windows_.offsets(), all = step_.x.batch * heads_.heads_;
    at_.pool().run(all * chunks_, [&](int i, int thread) {
      int const n = i / chunks_ / heads_.heads_, head = i / chunks_ % heads_.heads_;
      float *const memory = at_.scratch(thread), *const by_offset = at_.shared() + 1LL * i * offsets;
      attention_windows::biases biases(windows_, step_, n, head, memory + bias());
      std::memset(memory + bias_gradients(), 0,
                  sizeof(float) * static_cast<unsigned long long>(windows_.gradient_floats()));
      share const windows(windows_.count(), i % chunks_, chunks_);
      attention_heads here = heads_;
      for (int w = windows.begin; w < windows.end; ++w) {
        here.look_at(windows_.pixels(w));
        run(here, n, head, 0, biases.of(w), memory, memory + key_sums());
      }
      if (!of_biases_) return;
      std::memset(by_offset, 0, sizeof(float) * static_cast<unsigned>(offsets));
      windows_.add_by_offset(memory + bias_gradients(), by_offset);
    });
    bool const bounded = step_.node->kind == op::bounded_window_attention;
    float* const gradient = step_.gradient(role::kernel);
    for (int k = 0; bounded && of_biases_ && k < offsets * all; ++k) {
      int const n = k / offsets / heads_.heads_, head = k / offsets % heads_.heads_, offset = k % offsets;
      double const slope = plain::bounded_bias_slope(static_cast<double>(step_.x2(n, head, offset)));
      float const d = static_cast<float>(slope * sum_of(n, head, offset));
      float& to = step_.to(n, head, offset);
      to = step_.accumulate ? to + d : d;
    }
    for (int k = 0; !bounded && gradient && k < offsets * heads_.heads_; ++k) {
      double sum = 0;
      for (int n = 0; n < step_.x.batch; ++n) sum += sum_of(n, k % heads_.heads_, k / heads_.heads_);
      gradient[k] = static_cast<float>(sum);
    }
    if (step_.ends_block) host::zero_rest_of_block(step_.to);
  }
  /// Returns the gradient of one bias of a head in a sample.
  double sum_of(int n, int head, int offset) const {
    double sum = 0;
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      long long const item = (1LL * n * heads_.heads_ + head) * chunks_ + chunk;
      sum += static_cast<double>(at_.shared()[item * windows_.offsets() + offset]);
    }
    return sum;
  }

  void run(attention_heads const& h, int n, int head, int part, float const* biases, float* memory, float* sums) const {
    float* const spare_at = memory + spare();
    h.pack_columns(step_.x, n, head, 1, h.key_blocks(), memory, spare_at);
    h.pack_columns(step_.x, n, head, 2, h.key_blocks(), memory + values(), spare_at);
    h.pack_rows(step_.x, n, head, 1, h.key_blocks(), memory + key_rows(), spare_at);
    std::memset(sums, 0, sizeof(float) * static_cast<unsigned long long>(2 * h.packed()));
    for (int q = part; q < h.query_blocks_; q += parts_) {
      share const rows = h.queries(q);
      int const count = rows.end - rows.begin;
      h.read(step_.x, n, head, 0, rows.begin, count, h.score_scale(), memory + queries(), spare_at);
      h.read(step_.dy, n, head, 0, rows.begin, count, 1, memory + gradients(), spare_at);
      std::memset(memory + query_sums(), 0, sizeof(float) * static_cast<unsigned>(count * h.padded()));
      weigh(rows, biases, memory);
      for (int b = 0; b < h.seen_blocks(rows.end); ++b) {
        finish(rows, b, memory);
        if (!of_inputs_) continue;
        h.multiply_values(memory + slopes(), rows.begin, count, memory + key_rows(), b, memory + query_sums());
        add_to_keys(rows, b, memory, sums);
      }
      if (of_inputs_)
        h.write(memory + query_sums(), step_.to, n, head, 0, rows.begin, count, nullptr, h.scale(), step_.accumulate,
                spare_at);
    }
    if (parts_ == 1 && of_inputs_) write(h, n, head, sums, spare_at);
  }

  /// Computes the weights of a block of queries and their gradients, and the numbers with which the second pass
  /// finishes them.
  void weigh(share const& rows, float const* biases, float* memory) const {
    attention_heads const& h = heads_;
    int const count = rows.end - rows.begin, blocks = h.seen_blocks(rows.end);
    float *const mean = memory + numbers(), *const largest = mean + row_numbers(), *const sum = largest + row_numbers();
    for (long long i = 0; i < row_numbers(); ++i) {
      largest[i] = -std::numeric_limits<float>::infinity();
      mean[i] = sum[i] = 0;
    }
    for (int b = 0; b < blocks; ++b) {
      float *const scores_at = memory + weights() + b * scores_of_block(), *const gradients_at = scores_at + scores();
      h.multiply_keys(memory + queries(), rows.begin, count, memory, b, scores_at, biases);
      h.multiply_keys(memory + gradients(), rows.begin, count, memory + values(), b, gradients_at);
      h.for_each_tile(count, [&](int tile, int r, int tile_rows) {
        int const first = tile * most_score_rows;
        score_rows const at = h.rows_at(scores_at, rows.begin, r, tile_rows, b);
        if (at.vectors > 0) {
          float shrink[most_score_rows];
          at_.kernels().softmax({at, largest + first, sum + first, shrink, nullptr, 0, 0});
          at_.kernels().weighted({at, gradients_at + r * h.score_row(), shrink, mean + first});
        }
        std::memcpy(factors(memory, tile, b), largest + first, sizeof(float) * most_score_rows);
      });
    }
    h.for_each_tile(count, [&](int tile, int, int) {
      int const first = tile * most_score_rows;
      at_.kernels().finish_rows(
          {largest + first, sum + first, mean + first, factors(memory, tile, 0), row_numbers(), blocks});
    });
  }
  float* factors(float* memory, int tile, int block) const {
    return memory + numbers() + (3LL + block) * row_numbers() + 1LL * tile * most_score_rows;
  }

  /// Finishes the weights of a block of queries and a block of keys, and the gradients of their scores.
  void finish(share const& rows, int b, float* memory) const {
    attention_heads const& h = heads_;
    float* const scores_at = memory + weights() + b * scores_of_block();
    float* const biases_at =
        of_biases_ ? memory + bias_gradients() + b * h.biases_of_block() + rows.begin * h.score_row() : nullptr;
    h.for_each_tile(rows.end - rows.begin, [&](int tile, int r, int tile_rows) {
      long long const row = r * h.score_row();
      score_rows const at = h.rows_at(scores_at, rows.begin, r, tile_rows, b);
      if (at.vectors > 0)
        at_.kernels().score_gradient({at, scores_at + scores() + row, factors(memory, tile, b),
                                      memory + numbers() + tile * most_score_rows, memory + finished() + row,
                                      memory + slopes() + row, biases_at ? biases_at + row : nullptr});
    });
  }

  /// Adds a block of queries to the sums for a block of keys. Queries do not see the keys after them.
  void add_to_keys(share const& rows, int b, float* memory, float* sums) const {
    attention_heads const& h = heads_;
    int const outer = at_.kernels().outer_rows, begin = b * attention_heads::block_keys;
    float const* const at = memory + finished();
    for (int j = 0; j < h.keys(b); j += outer) {
      int const skipped = h.causal_ && begin + j > rows.begin ? begin + j - rows.begin : 0;
      int const count = rows.end - rows.begin - skipped;
      if (count <= 0) break;
      float const* const p = at + skipped * h.score_row() + j;
      long long const to = h.packed_block(b) + 1LL * j * h.padded(), from = 1LL * skipped * h.padded();
      h.multiply_transposed(p + scores_of_block(), count, memory + queries() + from, sums + to);
      h.multiply_transposed(p, count, memory + gradients() + from, sums + h.packed() + to);
    }
  }

  void write(attention_heads const& h, int n, int head, float const* sums, float* spare_at) const {
    for (int b = 0; b < h.key_blocks(); ++b) {
      int const first = b * attention_heads::block_keys;
      float const* const from = sums + h.packed_block(b);
      h.write(from, step_.to, n, head, 1, first, h.keys(b), nullptr, attention_heads::log_of_2, step_.accumulate,
              spare_at);
      h.write(from + h.packed(), step_.to, n, head, 2, first, h.keys(b), nullptr, 1, step_.accumulate, spare_at);
    }
  }

  cpu_device& at_;
  host::bound_step<float> const& step_;
  attention_heads heads_;
  attention_windows windows_;
  int chunks_;      // of windows
  int parts_;       // of each head's queries
  bool of_inputs_;  // which gradients this step computes
  bool of_biases_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
