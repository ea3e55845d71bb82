// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/onednn/parallel.hpp>
#include <dsl/executors/onednn/simd.hpp>
#include <dsl/view.hpp>

namespace dsl::dnn {

/// Keras's momentum step on flat arrays: v = momentum * v - rate * g, p += v.
struct momentum_step {
  struct call {
    float* p;
    float const* g;
    float* v;
    long long n;
    float momentum;
    float rate;
  };
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    long long const vectors = c.n / L;
    for (long long i = vectors * thread / threads; i < vectors * (thread + 1) / threads; ++i) {
      floats const v =
          reinterpret_cast<floats const*>(c.v)[i] * c.momentum - reinterpret_cast<floats const*>(c.g)[i] * c.rate;
      reinterpret_cast<floats*>(c.v)[i] = v;
      reinterpret_cast<floats*>(c.p)[i] += v;
    }
    if (thread == 0)
      for (long long i = vectors * L; i < c.n; ++i) c.p[i] += c.v[i] = c.momentum * c.v[i] - c.rate * c.g[i];
  }
};

/// Whole channel blocks from one buffer to another: each sample's are contiguous.
struct copy_blocks {
  struct call {
    view<float const> from;
    view<float> to;
    bool accumulate;
  };
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    long long const area = c.to.shape.area();
    long long const vectors = (c.to.shape.channels + L - 1) / L * area;
    share const mine(c.to.batch, thread, threads);
    for (int n = mine.begin; n < mine.end; ++n) {
      auto const* from =
          reinterpret_cast<floats const*>(c.from.data + (1LL * n * c.from.buffer_channels + c.from.channel) * area);
      auto* to = reinterpret_cast<floats*>(c.to.data + (1LL * n * c.to.buffer_channels + c.to.channel) * area);
      for (long long i = 0; i < vectors; ++i) to[i] = c.accumulate ? to[i] + from[i] : from[i];
    }
  }
};

/// Channel blocks of one sample lie one behind the other, so an elementwise operation sees one row of numbers.
template <class T>
struct row {
  T* data;
  long long stride;  // from sample to sample

  explicit row(view<T> const& v)
      : data(v.data + 1LL * v.channel * v.shape.area()), stride(1LL * v.buffer_channels * v.shape.area()) {}
  T* operator[](int n) const { return data + n * stride; }
};

/// y = max(x, 0), or dx = dy where y > 0; dx may be dy, y may be x.
struct relu_step {
  struct call {
    row<float const> from;   // x, or y
    row<float const> slope;  // dy in the backward pass
    row<float> to;
    int batch;
    long long size;  // of a sample, a multiple of the vector's
    bool backward;
    bool accumulate;
  };
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    share const mine(c.batch, thread, threads);
    floats const zero{};
    for (int n = mine.begin; n < mine.end; ++n) {
      auto const* const from = reinterpret_cast<floats const*>(c.from[n]);
      auto* const to = reinterpret_cast<floats*>(c.to[n]);
      if (!c.backward) {
        for (long long i = 0; i < c.size / L; ++i) to[i] = from[i] < zero ? zero : from[i];  // a NaN stays one
        continue;
      }
      auto const* const slope = reinterpret_cast<floats const*>(c.slope[n]);
      for (long long i = 0; i < c.size / L; ++i) {
        floats const d = from[i] > zero ? slope[i] : zero;
        to[i] = c.accumulate ? to[i] + d : d;
      }
    }
  }
};

/// to = a + b; to may be either.
struct sum_step {
  struct call {
    row<float const> a;
    row<float const> b;
    row<float> to;
    int batch;
    long long size;
  };
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    share const mine(c.batch, thread, threads);
    for (int n = mine.begin; n < mine.end; ++n) {
      auto const* const a = reinterpret_cast<floats const*>(c.a[n]);
      auto const* const b = reinterpret_cast<floats const*>(c.b[n]);
      auto* const to = reinterpret_cast<floats*>(c.to[n]);
      for (long long i = 0; i < c.size / L; ++i) to[i] = a[i] + b[i];
    }
  }
};

}  // namespace dsl::dnn
