// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// The two rows, or columns, of an image between which a row of the enlarged image lies. It is (1 - share) * low +
/// share * high; if the share is 0, only `low` is read.
struct resized {
  int low = 0;
  int high = 0;
  float share = 0;
  float rest = 1;  // 1 - share
};

/// Arguments for enlarging one channel block, or for the gradient of that. Columns are computed for all rows in the
/// same way, so each row of the small image is enlarged, or each row of the gradient reduced, only once for each use.
struct resize_call {
  float const* from = nullptr;
  float* to = nullptr;
  resized const* rows = nullptr;     // of the large image
  resized const* columns = nullptr;  // of the large image
  int first = 0;                     // large rows to enlarge, or small rows whose gradients to compute
  int last = 0;
  int height = 0;  // of the large image
  int width = 0;   // of the large image
  int small_width = 0;
  bool accumulate = false;
};

template <int L>
struct enlarge {
  using call = resize_call;
  using floats = typename vector<L>::type;
  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int i = c.first; i < c.last; ++i) {
      resized const row = c.rows[i];
      float const* const low = c.from + 1LL * row.low * c.small_width * L;
      float const* const high = c.from + 1LL * row.high * c.small_width * L;
      float* const to = c.to + 1LL * i * c.width * L;
      for (int j = 0; j < c.width; ++j) {
        resized const column = c.columns[j];
        floats left, right, share, rest, y;
        at(left, low, high, row, column.low);
        if (column.share != 0) {
          at(right, low, high, row, column.high);
          broadcast<L>(share, &c.columns[j].share);
          broadcast<L>(rest, &c.columns[j].rest);
          multiply<L>(y, left, rest);
          multiply_add<L>(y, right, share);
          left = y;
        }
        store<L>(to + j * L, left);
      }
    }
  }

 private:
  /// Interpolates between two rows, in one column of vectors.
  [[gnu::always_inline]] static inline void at(floats& v, float const* low, float const* high, resized const& row,
                                               int column) {
    load<L>(v, low + column * L);
    if (row.share == 0) return;
    floats other, share, rest, y;
    load<L>(other, high + column * L);
    broadcast<L>(share, &row.share);
    broadcast<L>(rest, &row.rest);
    multiply<L>(y, v, rest);
    multiply_add<L>(y, other, share);
    v = y;
  }
};

/// Adds to each pixel of rows [first, last) of a small image the gradients of the pixels that read it, row by row of
/// the large image.
template <int L>
struct reduce {
  using call = resize_call;
  using floats = typename vector<L>::type;
  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int i = c.first; !c.accumulate && i < c.last; ++i)
      for (int j = 0; j < c.small_width; ++j) store<L>(c.to + (1LL * i * c.small_width + j) * L, floats{});
    for (int i = 0; i < c.height; ++i) {
      resized const& row = c.rows[i];
      if (row.low >= c.first && row.low < c.last) add(c, i, row.low, &row.rest);
      if (row.share != 0 && row.high >= c.first && row.high < c.last) add(c, i, row.high, &row.share);
    }
  }

 private:
  [[gnu::always_inline]] static inline void add(call const& c, int i, int small_row, float const* weight) {
    float const* const from = c.from + 1LL * i * c.width * L;
    float* const to = c.to + 1LL * small_row * c.small_width * L;
    floats factor;
    broadcast<L>(factor, weight);
    for (int j = 0; j < c.width; ++j) {
      resized const& column = c.columns[j];
      floats dy, v, share, sum;
      load<L>(v, from + j * L);
      multiply<L>(dy, v, factor);
      broadcast<L>(share, &column.rest);
      load<L>(sum, to + column.low * L);
      multiply_add<L>(sum, dy, share);
      store<L>(to + column.low * L, sum);
      if (column.share == 0) continue;
      broadcast<L>(share, &column.share);
      load<L>(sum, to + column.high * L);
      multiply_add<L>(sum, dy, share);
      store<L>(to + column.high * L, sum);
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
