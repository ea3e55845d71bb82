// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/update.hpp>
#include <dsl/executors/onednn/simd.hpp>

namespace dsl::dnn {

/// Square roots of a whole vector, rounded as a float's. <immintrin.h> would cost every including file 0.1 s, and GCC's
/// own functions of that name change the ABI, as it says, where no instruction set is chosen yet.
template <int L>
struct vector_root {
  template <class V>
  [[gnu::always_inline]] static inline void take(V& x) {
#if __has_builtin(__builtin_elementwise_sqrt)
    x = __builtin_elementwise_sqrt(x);
#elif !defined(__clang__)
    asm("vsqrtps %1, %0" : "=v"(x) : "v"(x));  // inlined into a function for processors that have it
#else
    for (int i = 0; i < L; ++i) x[i] = __builtin_sqrtf(x[i]);
#endif
  }
};

/// host::update a vector at a time; n is a multiple of 16, as regions are padded.
struct update_step {
  using call = host::update_call<float>;
  template <int L>
  [[gnu::always_inline]] static inline void run(call const& x, int thread, int threads) {
    using memory = typename simd<L>::floats;
    typedef float vector __attribute__((vector_size(L * 4)));
    host::update_constants<float> const c(x);
    int const slots = x.rule->slots();
    long long const vectors = x.n / L;
    for (long long i = vectors * thread / threads; i < vectors * (thread + 1) / threads; ++i) {
      vector p = reinterpret_cast<memory const*>(x.p)[i];
      vector const g = reinterpret_cast<memory const*>(x.gradient)[i];
      vector slot[3] = {};
      for (int s = 0; s < slots; ++s) slot[s] = reinterpret_cast<memory const*>(x.slots + s * x.stride)[i];
      host::update_one<vector_root<L>>(c, p, g, slot[0], slot[1], slot[2]);
      reinterpret_cast<memory*>(x.p)[i] = p;
      for (int s = 0; s < slots; ++s) reinterpret_cast<memory*>(x.slots + s * x.stride)[i] = slot[s];
    }
  }
};

}  // namespace dsl::dnn
