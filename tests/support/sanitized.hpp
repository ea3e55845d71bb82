// SPDX-License-Identifier: MIT
#pragma once

// DSL_TEST_ASAN and DSL_TEST_TSAN are 1 if the test is built with that sanitizer, by GCC or Clang, and otherwise 0.

#if defined(__SANITIZE_ADDRESS__)
#define DSL_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DSL_TEST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define DSL_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DSL_TEST_TSAN 1
#endif
#endif

#ifndef DSL_TEST_ASAN
#define DSL_TEST_ASAN 0
#endif
#ifndef DSL_TEST_TSAN
#define DSL_TEST_TSAN 0
#endif
