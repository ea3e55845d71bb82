// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>

#ifdef __linux__
#include <cerrno>
#include <sched.h>
#endif

namespace dsl::detail::TYPENET_MODE {

/// Returns the numbers of the processor cores that the calling thread may use, in ascending order. Returns none if the
/// system does not say.
inline list<int> allowed_cores() {
  list<int> cores;
#ifdef __linux__
  // Linux refuses a set for fewer processors than it was built for, which may be more than the 1,024 of cpu_set_t.
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
    cpu_set_t* const set = CPU_ALLOC(most);
    if (!set) break;
    unsigned long const size = CPU_ALLOC_SIZE(most);
    int const code = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
    for (int c = 0; code == 0 && c < most; ++c)
      if (CPU_ISSET_S(c, size, set)) cores.push(c);
    CPU_FREE(set);
    if (code != EINVAL) break;
  }
#endif
  return cores;
}

/// Lets the calling thread, and threads it starts later, use only these cores. This is an optimization, so a failure is
/// ignored.
inline void use_only(list<int> const& cores) {
#ifdef __linux__
  int most = 0;
  for (int c : cores) most = c >= most ? c + 1 : most;
  cpu_set_t* const set = most > 0 ? CPU_ALLOC(most) : nullptr;
  if (!set) return;
  unsigned long const size = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(size, set);
  for (int c : cores) CPU_SET_S(c, size, set);
  sched_setaffinity(0, size, set);
  CPU_FREE(set);
#else
  static_cast<void>(cores);
#endif
}

}  // namespace dsl::detail::TYPENET_MODE
