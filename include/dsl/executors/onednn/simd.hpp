// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/instructions.hpp>
#include <dsl/view.hpp>

// One source for each kernel, compiled for two instruction sets and picked when the step is built, so that a user needs
// no -march flag. A kernel is a struct with `template <int L> static void run(call, thread, threads)`, always inlined,
// over channel blocks of L floats: vectors of exactly one register on the processor that block was chosen for.

namespace dsl::dnn {

template <int L>
struct simd {
  typedef float floats __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef int ints __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef float halves __attribute__((vector_size(L * 2), aligned(4), may_alias));
  typedef double doubles __attribute__((vector_size(L * 4), aligned(8), may_alias));  // of halves, a register
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

/// Returns how many floats a vector register of our kernels holds: 16 with AVX-512, 8 with AVX2 and FMA, 1 with
/// neither, where plain loops serve. TYPENET_MAX_ISA holds it down (host::widest).
[[gnu::cold]] inline int vector_floats() {
  host::instructions const set = host::widest();
  return set == host::instructions::baseline ? 1 : host::lanes_of(set);
}

template <class Kernel>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]] void run_avx512(void const* call, int thread,
                                                                               int threads) {
  Kernel::template run<16>(*static_cast<typename Kernel::call const*>(call), thread, threads);
}
template <class Kernel>
[[gnu::cold, gnu::target("avx2,fma")]] void run_avx2(void const* call, int thread, int threads) {
  Kernel::template run<8>(*static_cast<typename Kernel::call const*>(call), thread, threads);
}

/// Returns whether our kernels run on channel blocks of `block` floats here; without, plain loops serve. AVX2's kernels
/// are whole registers wide on blocks of 8 only.
inline bool has_vectors_of(int block) { return block > 1 && block <= vector_floats(); }

}  // namespace dsl::dnn
