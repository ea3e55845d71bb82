// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/shape.hpp>

namespace dsl::host::TYPENET_MODE {

/// Arguments for a pool over one channel block of one image.
struct pool_call {
  float const* from = nullptr;      // x, or dy
  float* to = nullptr;              // y, or dx
  unsigned char* argmax = nullptr;  // for y; null if not needed
  shape in{};                       // shape of x
  shape out{};                      // shape of y
  dsl::window window{};
  bool accumulate = false;
  bool counts_padding = true;  // whether means include the padding

  window_part rows(int i) const { return window_part_of(i, window.rows(), in.height); }
  window_part columns(int j) const { return window_part_of(j, window.columns(), in.width); }
  /// Returns the first pixel of a window, which may be in the padding.
  long long corner(window_part const& r, window_part const& c) const { return 1LL * r.begin * in.width + c.begin; }
  float share(window_part const& r, window_part const& c) const {
    int const numbers = (r.last - r.first) * (c.last - c.first);
    return 1.0F / static_cast<float>(counts_padding ? window.height * window.width : numbers);
  }
};

/// Computes the largest value of each window. If several values are the largest, it takes the first; if the window
/// contains a NaN, the result is NaN.
template <int L>
struct max_pool {
  using call = pool_call;
  using ints = typename vector<L>::ints;
  using bytes = typename vector<L>::bytes;

  [[gnu::always_inline]] static inline void run(call const& c) {
    window const& w = c.window;
    for (int i = 0; i < c.out.height; ++i)
      for (int j = 0; j < c.out.width; ++j) {
        window_part const rows = c.rows(i), columns = c.columns(j);
        long long const corner = c.corner(rows, columns);
        typename vector<L>::type best;
        load<L>(best, c.from + (corner + 1LL * rows.first * c.in.width + columns.first) * L);
        ints place = ints{} + (rows.first * w.width + columns.first);
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            typename vector<L>::type v;
            load<L>(v, c.from + (corner + 1LL * a * c.in.width + b) * L);
            ints const here = ints{} + (a * w.width + b);
            ints const larger = v > best;
            best = larger ? v : best;
            place = larger ? here : place;
#if defined(__x86_64__) && !defined(__clang__)
            // Otherwise GCC merges the two comparisons and, for AVX-512, processes one number at a time.
            asm("" : "+v"(best), "+v"(place));
#endif
            ints const none = v != v;  // NaN stays NaN. NOLINT(misc-redundant-expression)
            best = none ? v : best;
            place = none ? here : place;
          }
        long long const at = (1LL * i * c.out.width + j) * L;
        store<L>(c.to + at, best);
        if (c.argmax) *reinterpret_cast<bytes*>(c.argmax + at) = __builtin_convertvector(place, bytes);
      }
  }
};

template <int L>
struct max_pool_gradient {
  using call = pool_call;
  using ints = typename vector<L>::ints;
  using bytes = typename vector<L>::bytes;

  [[gnu::always_inline]] static inline void run(call const& c) {
    window const& w = c.window;
    typename vector<L>::type const zero{};
    if (!c.accumulate)
      for (long long i = 0; i < c.in.area(); ++i) store<L>(c.to + i * L, zero);
    for (int i = 0; i < c.out.height; ++i)
      for (int j = 0; j < c.out.width; ++j) {
        long long const at = (1LL * i * c.out.width + j) * L;
        window_part const rows = c.rows(i), columns = c.columns(j);
        long long const corner = c.corner(rows, columns);
        typename vector<L>::type dy;
        load<L>(dy, c.from + at);
        ints const place = __builtin_convertvector(*reinterpret_cast<bytes const*>(c.argmax + at), ints);
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            float* const to = c.to + (corner + 1LL * a * c.in.width + b) * L;
            typename vector<L>::type dx;
            load<L>(dx, to);
            dx += place == ints{} + (a * w.width + b) ? dy : zero;
            store<L>(to, dx);
          }
      }
  }
};

template <int L>
struct average_pool {
  using call = pool_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int i = 0; i < c.out.height; ++i)
      for (int j = 0; j < c.out.width; ++j) {
        window_part const rows = c.rows(i), columns = c.columns(j);
        long long const corner = c.corner(rows, columns);
        typename vector<L>::type const share = typename vector<L>::type{} + c.share(rows, columns);
        typename vector<L>::type sum{}, v;
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            load<L>(v, c.from + (corner + 1LL * a * c.in.width + b) * L);
            sum += v;
          }
        multiply<L>(v, sum, share);
        store<L>(c.to + (1LL * i * c.out.width + j) * L, v);
      }
  }
};

template <int L>
struct average_pool_gradient {
  using call = pool_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    typename vector<L>::type const zero{};
    if (!c.accumulate)
      for (long long i = 0; i < c.in.area(); ++i) store<L>(c.to + i * L, zero);
    for (int i = 0; i < c.out.height; ++i)
      for (int j = 0; j < c.out.width; ++j) {
        window_part const rows = c.rows(i), columns = c.columns(j);
        long long const corner = c.corner(rows, columns);
        typename vector<L>::type const share = zero + c.share(rows, columns);
        typename vector<L>::type dy;
        load<L>(dy, c.from + (1LL * i * c.out.width + j) * L);
        for (int a = rows.first; a < rows.last; ++a)
          for (int b = columns.first; b < columns.last; ++b) {
            float* const to = c.to + (corner + 1LL * a * c.in.width + b) * L;
            typename vector<L>::type dx;
            load<L>(dx, to);
            multiply_add<L>(dx, dy, share);
            store<L>(to, dx);
          }
      }
  }
};

}  // namespace dsl::host::TYPENET_MODE
