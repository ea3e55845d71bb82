// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/activation.hpp>
#include <dsl/executors/host/vector.hpp>

#include <limits>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for y = x base^-power or for its gradient, with base = constant + share * the sum of the squares of the
/// channels that are at most `reach` channels away, in each pixel. Channel blocks are `apart` floats from each other,
/// and the unused lanes of the last block are 0. `reach` is at most the number of lanes.
struct local_response_call {
  float const* x = nullptr;
  float const* dy = nullptr;  // for the gradient
  float* to = nullptr;        // not x or dy
  long long apart = 0;
  long long pixels = 0;
  int blocks = 0;
  int reach = 0;
  float constant = 0;
  float share = 0;
  float power = 0;
  bool accumulate = false;
};

/// Computes y = log(x): x = 2^n m with 1 <= m < 2, and log m = 2 atanh(s) with s = (m - c) / (m + c) for the constant
/// c = sqrt(2), by the series of atanh up to s^13; |s| < 0.172. A negative number, zero or a NaN gives a NaN.
template <int L>
[[gnu::always_inline]] inline void logarithm(typename vector<L>::type& y, typename vector<L>::type const& x) {
  using floats = typename vector<L>::type;
  using ints = typename vector<L>::ints;
  floats const none{}, root = 1.41421356F - none, log2 = 0.693147181F - none, two = 2.0F - none;
  ints const bits = reinterpret_cast<ints>(x);
  floats const n = __builtin_convertvector((bits >> 23) - 127, floats) + (0.5F - none);  // log2 of 2^n sqrt(2)
  floats const m = reinterpret_cast<floats>((bits & 0x7fffff) | 0x3f800000);
  floats const s = (m - root) / (m + root);
  floats square, sum, series = 2.0F / 13 - none;
  multiply<L>(square, s, s);
#pragma GCC unroll 5
  for (int i = 11; i > 1; i -= 2) {
    sum = 2.0F / static_cast<float>(i) - none;
    multiply_add<L>(sum, series, square);
    series = sum;
  }
  multiply<L>(sum, series, square);
  sum += two;
  multiply<L>(y, n, log2);
  multiply_add<L>(y, s, sum);
  y = x > none ? y : std::numeric_limits<float>::quiet_NaN() - none;
}

template <int L>
struct local_response {
  using call = local_response_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (long long i = 0; i < c.pixels * L; i += L) c.dy ? backward(c, i) : forward(c, i);
  }

 private:
  /// Computes the base of the power in each channel of block b.
  [[gnu::always_inline]] static inline void base_of(floats& base, call const& c, long long i, int b) {
    float squares[3 * L];  // of the block and its neighbours
    for (int k = -1; k < 2; ++k) {
      floats x{}, square;
      if (b + k >= 0 && b + k < c.blocks) load<L>(x, c.x + (b + k) * c.apart + i);
      multiply<L>(square, x, x);
      store<L>(squares + (k + 1) * L, square);
    }
    floats sum{}, one;
    for (int k = -c.reach; k <= c.reach; ++k) {
      load<L>(one, squares + L + k);
      sum += one;
    }
    floats share;
    broadcast<L>(share, &c.share);
    broadcast<L>(base, &c.constant);
    multiply_add<L>(base, sum, share);
  }
  /// Computes base^-power.
  [[gnu::always_inline]] static inline void factor_of(floats& factor, call const& c, floats const& base) {
    float const minus = -c.power;
    floats power, log, exponent;
    broadcast<L>(power, &minus);
    logarithm<L>(log, base);
    multiply<L>(exponent, log, power);
    exponential<L>(factor, exponent);
  }
  [[gnu::always_inline]] static inline void forward(call const& c, long long i) {
    for (int b = 0; b < c.blocks; ++b) {
      floats base, factor, x, y;
      base_of(base, c, i, b);
      factor_of(factor, c, base);
      load<L>(x, c.x + b * c.apart + i);
      multiply<L>(y, x, factor);
      store<L>(c.to + b * c.apart + i, y);
    }
  }
  /// Computes dx = dy factor - 2 share power x * the sum of dy x factor / base over the same neighbours.
  [[gnu::always_inline]] static inline void backward(call const& c, long long i) {
    float terms[3 * L] = {};  // of the block and its neighbours
    float const slope = -2 * c.share * c.power;
    floats own{}, next{};
    term(next, terms + 2 * L, c, i, 0);
    for (int b = 0; b < c.blocks; ++b) {
      own = next;
      __builtin_memcpy(terms, terms + L, sizeof(float) * L);
      __builtin_memcpy(terms + L, terms + 2 * L, sizeof(float) * L);
      term(next, terms + 2 * L, c, i, b + 1);
      floats sum{}, one, x, dx, old, factor;
      for (int k = -c.reach; k <= c.reach; ++k) {
        load<L>(one, terms + L + k);
        sum += one;
      }
      load<L>(x, c.x + b * c.apart + i);
      broadcast<L>(factor, &slope);
      multiply<L>(dx, x, factor);
      multiply<L>(factor, dx, sum);
      dx = own + factor;
      if (c.accumulate) {
        load<L>(old, c.to + b * c.apart + i);
        dx += old;
      }
      store<L>(c.to + b * c.apart + i, dx);
    }
  }
  /// Computes dy factor, and stores dy x factor / base; both are 0 after the last block.
  [[gnu::always_inline]] static inline void term(floats& own, float* term, call const& c, long long i, int b) {
    floats const none{};
    own = none;
    if (b >= c.blocks) return store<L>(term, none);
    floats base, factor, x, dy, product;
    base_of(base, c, i, b);
    factor_of(factor, c, base);
    load<L>(x, c.x + b * c.apart + i);
    load<L>(dy, c.dy + b * c.apart + i);
    multiply<L>(own, dy, factor);
    multiply<L>(product, own, x);
    product /= base;
    store<L>(term, product);
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
