// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/view.hpp>

// One source for each kernel, compiled for two instruction sets and picked when the step is built, so that a user needs
// no -march flag. A kernel is a struct with `template <int L> static void run(call, thread, threads)`, always inlined,
// over channel blocks of L floats: vectors of exactly one register on the processor that block was chosen for.

namespace dsl::dnn {

template <int L>
struct simd {
  typedef float floats __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef int ints __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef unsigned char bytes __attribute__((vector_size(L), aligned(1), may_alias));

  /// The vectors of one channel block of a sample: one a pixel.
  static floats const* plane(view<float const> const& v, int n, int block) {
    return reinterpret_cast<floats const*>(v.data + offset(n, block, v.buffer_channels, v.channel, v.shape));
  }
  static floats* plane(view<float> const& v, int n, int block) {
    return reinterpret_cast<floats*>(v.data + offset(n, block, v.buffer_channels, v.channel, v.shape));
  }

 private:
  static long long offset(int n, int block, int buffer_channels, int channel, shape const& s) {
    return (1LL * n * buffer_channels + channel + 1LL * block * L) * s.area();
  }
};

/// The channel block that this processor's convolutions are fastest with.
inline int preferred_block() { return __builtin_cpu_supports("avx512f") ? 16 : 8; }

template <class Kernel>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]] void run_avx512(void const* call, int thread,
                                                                               int threads) {
  Kernel::template run<16>(*static_cast<typename Kernel::call const*>(call), thread, threads);
}
template <class Kernel>
[[gnu::cold, gnu::target("avx2,fma")]] void run_avx2(void const* call, int thread, int threads) {
  Kernel::template run<8>(*static_cast<typename Kernel::call const*>(call), thread, threads);
}

/// Whether this processor has the vectors for channel blocks of `block` floats; without, plain loops serve.
inline bool has_vectors_of(int block) {
  if (block == 16)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return block == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

}  // namespace dsl::dnn
