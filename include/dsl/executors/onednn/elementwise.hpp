// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/update.hpp>
#include <dsl/executors/onednn/parallel.hpp>
#include <dsl/executors/onednn/simd.hpp>

namespace dsl::dnn {

/// host::update_by_sgd for Keras's momentum, and no clipping to a value; n is a multiple of 16, as regions are padded.
struct momentum_step {
  using call = host::update_call<float>;
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& x, int thread, int threads) {
    using floats = typename simd<L>::floats;
    host::sgd_constants<float> const c(x);
    long long const vectors = x.n / L;
    for (long long i = vectors * thread / threads; i < vectors * (thread + 1) / threads; ++i) {
      floats const p = reinterpret_cast<floats const*>(x.p)[i];
      floats const g = (reinterpret_cast<floats const*>(x.gradient)[i] * c.scale + p * c.decay) * c.rate;
      floats const v = reinterpret_cast<floats const*>(x.slots)[i] * c.momentum - g;
      reinterpret_cast<floats*>(x.slots)[i] = v;
      reinterpret_cast<floats*>(x.p)[i] = p - p * c.shrink + (c.nesterov ? v * c.momentum - g : v);
    }
  }
};

/// What an elementwise step puts into its result.
enum class row_function {
  copy,           // a
  sum,            // a + b
  relu,           // max(a, 0)
  relu_backward,  // b where a > 0; a is the relu's input or output, whose sign is the same
};

/// Elementwise steps over whole channel blocks: those of one sample lie one after the other, so they are one row of
/// numbers. The result may be a or b itself.
struct row_step {
  struct call {
    row_function function;
    view<float const> a;
    view<float const> b;
    view<float> to;
    bool accumulate;
  };
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    share const mine(c.to.batch, thread, threads);
    long long const vectors = c.to.shape.size() / L;
    floats const zero{};
    for (int n = mine.begin; n < mine.end; ++n) {
      floats const* const a = simd<L>::plane(c.a, n, 0);
      floats const* const b = simd<L>::plane(c.b, n, 0);
      floats* const to = simd<L>::plane(c.to, n, 0);
      switch (c.function) {
        case row_function::copy:
          for (long long i = 0; i < vectors; ++i) to[i] = c.accumulate ? to[i] + a[i] : a[i];
          break;
        case row_function::sum:
          for (long long i = 0; i < vectors; ++i) to[i] = a[i] + b[i];
          break;
        case row_function::relu:
          for (long long i = 0; i < vectors; ++i) to[i] = a[i] < zero ? zero : a[i];  // a NaN stays one
          break;
        case row_function::relu_backward:
          for (long long i = 0; i < vectors; ++i) {
            floats const d = a[i] > zero ? b[i] : zero;
            to[i] = c.accumulate ? to[i] + d : d;
          }
          break;
      }
    }
  }
};

}  // namespace dsl::dnn
