// SPDX-License-Identifier: MIT
#pragma once

#include "support/sanitized.hpp"

#include <cstddef>

#if DSL_TEST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if DSL_TEST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/// The sanitizers' entry points, empty if the test is built without them.
namespace dsl_test::sanitizers {

inline constexpr bool address = DSL_TEST_ASAN != 0;

inline void poison([[maybe_unused]] void const* p, [[maybe_unused]] std::size_t bytes) {
#if DSL_TEST_ASAN
  __asan_poison_memory_region(p, bytes);
#endif
}
inline void unpoison([[maybe_unused]] void const* p, [[maybe_unused]] std::size_t bytes) {
#if DSL_TEST_ASAN
  __asan_unpoison_memory_region(p, bytes);
#endif
}

inline void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] void const* bottom,
                         [[maybe_unused]] std::size_t bytes, [[maybe_unused]] void* tsan_fiber) {
#if DSL_TEST_ASAN
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
#if DSL_TEST_TSAN
  __tsan_switch_to_fiber(tsan_fiber, 0);
#endif
}
inline void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] void const** old_bottom,
                          [[maybe_unused]] std::size_t* old_bytes) {
#if DSL_TEST_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_bytes);
#endif
}

inline void* current_fiber() {
#if DSL_TEST_TSAN
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
inline void* new_fiber() {
#if DSL_TEST_TSAN
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
inline void forget_fiber([[maybe_unused]] void* f) {
#if DSL_TEST_TSAN
  if (f) __tsan_destroy_fiber(f);
#endif
}

}  // namespace dsl_test::sanitizers
