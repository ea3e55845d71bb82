// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstdlib>
#include <string_view>

namespace dsl::host::TYPENET_MODE {

/// The instruction sets that kernels exist for. `baseline` is common to all processors of an architecture: SSE2 on
/// x86-64, NEON on AArch64. `automatic` is the widest that this processor has.
enum class instructions : unsigned char { automatic, baseline, avx2, avx512 };

/// Returns the number of floats in a vector register.
constexpr int lanes_of(instructions set) {
  return set == instructions::avx512 ? 16 : set == instructions::avx2 ? 8 : 4;
}
constexpr char const* name_of(instructions set) {
  return set == instructions::avx512 ? "AVX-512" : set == instructions::avx2 ? "AVX2" : "128 bits";
}

/// Whether this processor has the instruction set and the operating system saves its registers.
inline bool has(instructions set) {
#ifdef __x86_64__
  __builtin_cpu_init();  // callers may run before main()
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == instructions::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (set == instructions::avx2) return avx2;
#endif
  return set <= instructions::baseline;
}

/// Determines the result of widest(). Throws option_error if TYPENET_MAX_ISA is not the name of an instruction set.
inline instructions find_widest() {
  instructions most = instructions::avx512;
  if (char const* const held = std::getenv("TYPENET_MAX_ISA")) {
    std::string_view const name = held;
    if (name == "avx2") most = instructions::avx2;
    if (name == "baseline") most = instructions::baseline;
    if (name != "avx512" && most == instructions::avx512)
      detail::throw_error<option_error>({"TYPENET_MAX_ISA must be avx512, avx2 or baseline; found '", held, "'"});
  }
  while (!has(most)) most = most == instructions::avx512 ? instructions::avx2 : instructions::baseline;
  return most;
}

/// Returns the widest instruction set of this processor, limited by the environment variable TYPENET_MAX_ISA (avx512,
/// avx2 or baseline), as ONEDNN_MAX_CPU_ISA limits oneDNN's kernels.
inline instructions widest() {
  static instructions const set = find_widest();
  return set;
}

}  // namespace dsl::host::TYPENET_MODE
