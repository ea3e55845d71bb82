// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/instructions.hpp>

// Each kernel has one source, which is compiled for each instruction set and selected at run time, so that users need
// no -march flag. A kernel is a struct with `static void run(call const&)`, always inlined. No other code may use a
// wider set's instructions, so all code that runs in a kernel is inlined into one of these.

namespace dsl::host::widths::TYPENET_MODE {

struct baseline {
  static constexpr int lanes = 4;
  template <class Kernel>
  static void run(typename Kernel::call const& c) {
    Kernel::run(c);
  }
};
#ifdef __x86_64__
struct avx2 {
  static constexpr int lanes = 8;
  template <class Kernel>
  [[gnu::target("avx2,fma")]] static void run(typename Kernel::call const& c) {
    Kernel::run(c);
  }
};
struct avx512 {
  static constexpr int lanes = 16;
  template <class Kernel>
  [[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]] static void run(typename Kernel::call const& c) {
    Kernel::run(c);
  }
};
#endif

/// The width of an instruction set that is known when a program is compiled.
template <instructions Set>
struct width_of {
  using type = baseline;
};
#ifdef __x86_64__
template <>
struct width_of<instructions::avx2> {
  using type = avx2;
};
template <>
struct width_of<instructions::avx512> {
  using type = avx512;
};
#endif

}  // namespace dsl::host::widths::TYPENET_MODE
