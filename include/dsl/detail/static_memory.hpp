// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace dsl::detail {

/// The memory of an embedded program, which has no heap: a buffer of the program, in which objects are placed one after
/// the other. None is freed.
class static_memory {
 public:
  /// Uses the `bytes` bytes at `begin` from now on, and forgets the previous buffer.
  static void use(std::byte* begin, long long bytes) { next_ = begin, end_ = begin + bytes; }
  /// Returns `bytes` bytes at a multiple of `alignment`, or ends the program if there are not that many left.
  static void* take(long long bytes, long long alignment) {
    auto const at = reinterpret_cast<unsigned long long>(next_);
    auto const mask = static_cast<unsigned long long>(alignment) - 1;
    std::byte* const begin = next_ + static_cast<long long>(((at + mask) & ~mask) - at);
    if (end_ - begin < bytes) __builtin_trap();
    next_ = begin + bytes;
    return begin;
  }
  static long long left() { return end_ - next_; }

 private:
  static inline std::byte* next_ = nullptr;
  static inline std::byte* end_ = nullptr;
};

}  // namespace dsl::detail
