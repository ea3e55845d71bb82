// SPDX-License-Identifier: MIT
#pragma once

// Reassociated sums have other bits, and all bits here are promised to be the same whatever a program is compiled with.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "dsl::native gives the same bits with any flags, so it can't be compiled with -ffast-math; leave that out"
#endif

namespace dsl::native {

/// The instruction sets that kernels exist for, from the narrowest. `baseline` is what every processor of its kind has:
/// SSE2 on x86-64, NEON on AArch64, and whatever the compiler makes of four floats elsewhere.
enum class instructions : unsigned char { baseline, avx2, avx512 };

/// Returns the number of floats in a vector register.
constexpr int lanes_of(instructions set) {
  return set == instructions::avx512 ? 16 : set == instructions::avx2 ? 8 : 4;
}

constexpr char const* name_of(instructions set) {
  return set == instructions::avx512 ? "AVX-512" : set == instructions::avx2 ? "AVX2" : "128 bits";
}

/// Whether this processor has the set and the operating system saves its registers.
inline bool has(instructions set) {
#ifdef __x86_64__
  __builtin_cpu_init();  // callers may run before main()
  if (set == instructions::avx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (set == instructions::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return set == instructions::baseline;
}

/// Returns the widest set that this processor has.
inline instructions widest() {
  return has(instructions::avx512) ? instructions::avx512
         : has(instructions::avx2) ? instructions::avx2
                                   : instructions::baseline;
}

}  // namespace dsl::native
