// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace dsl::detail {

/// The memory of an embedded program, which has no heap: a buffer of the program, from which objects are taken one
/// after the other. None is given back.
class static_memory {
 public:
  /// Takes memory from `begin` on, `bytes` of it. Forgets the previous buffer.
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
