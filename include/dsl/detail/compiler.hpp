// SPDX-License-Identifier: MIT
#pragma once

// Makes the first error of a compiler that is too old a clear one; the errors after it are its consequences. Clang 14
// and later can read the headers, as the clangd of many editors does, but programs are tested with Clang 19.
#if __cplusplus < 202002L
#error typenet needs C++20: compile with -std=c++20, and with GCC 12 or Clang 19, or later
#elif defined(__clang__) ? __clang_major__ < 14 : defined(__GNUC__) && __GNUC__ < 12
#error typenet needs GCC 12 or Clang 19, or later
#endif
#ifdef TYPENET_SINGLE_HEADER
#error "typenet: the single header is included already; include either it or <dsl/...>"
#endif
