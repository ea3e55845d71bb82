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
      floats const v = reinterpret_cast<floats const*>(c.v)[i] * c.momentum -
                       reinterpret_cast<floats const*>(c.g)[i] * c.rate;
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
      auto const* from = reinterpret_cast<floats const*>(
          c.from.data + (1LL * n * c.from.buffer_channels + c.from.channel) * area);
      auto* to = reinterpret_cast<floats*>(c.to.data + (1LL * n * c.to.buffer_channels + c.to.channel) * area);
      for (long long i = 0; i < vectors; ++i) to[i] = c.accumulate ? to[i] + from[i] : from[i];
    }
  }
};

}  // namespace dsl::dnn
