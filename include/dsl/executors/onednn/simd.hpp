// SPDX-License-Identifier: MIT
#pragma once

// One source for each kernel, compiled for two instruction sets and picked when the program runs, so that a user
// needs no -march flag. A kernel is a struct with `template <int L> static void run(...)`, always inlined, over channel
// blocks of L floats: vectors of exactly one register on the processor that block was chosen for.

namespace dsl::dnn {

template <int L>
struct simd {
  typedef float floats __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef int ints __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef unsigned char bytes __attribute__((vector_size(L), aligned(1), may_alias));
};

/// The channel block that this processor's convolutions are fastest with.
inline int preferred_block() { return __builtin_cpu_supports("avx512f") ? 16 : 8; }

template <class Kernel, class... A>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), gnu::noinline]] void run_avx512(A const&... a) {
  Kernel::template run<16>(a...);
}
template <class Kernel, class... A>
[[gnu::target("avx2,fma"), gnu::noinline]] void run_avx2(A const&... a) {
  Kernel::template run<8>(a...);
}
/// Whether this processor has the vectors for channel blocks of `block` floats; without, plain loops serve.
inline bool can_dispatch(int block) {
  if (block == 16)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return block == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/// Runs a kernel for channel blocks of `block` floats, which can_dispatch().
template <class Kernel, class... A>
void dispatch(int block, A const&... a) {
  block == 16 ? run_avx512<Kernel>(a...) : run_avx2<Kernel>(a...);
}

}  // namespace dsl::dnn
