// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace dsl::detail::TYPENET_MODE {

/// Owns zeroed memory. The pages of a large block are first touched by its user.
class zeroed_memory {
 public:
  zeroed_memory() = default;
  zeroed_memory(zeroed_memory const&) = delete;
  zeroed_memory& operator=(zeroed_memory const&) = delete;
#ifdef TYPENET_EMBEDDED
 protected:
  [[gnu::cold, gnu::noinline]] void allocate(std::size_t count, std::size_t bytes) {
    data_ = std::memset(static_memory::take(static_cast<long long>(count * bytes), 16), 0, count * bytes);
    size_ = count;
  }
#else
  ~zeroed_memory() { std::free(data_); }

 protected:
  [[gnu::cold, gnu::noinline]] void allocate(std::size_t count, std::size_t bytes) {
    void* const made = std::calloc(count > 0 ? count : 1, bytes);
    if (!made) throw std::bad_alloc();
    std::free(data_);
    data_ = made, size_ = count;
  }
#endif

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// An array of numbers, initially 0. Each instantiation of std::vector costs every including file 10 to 20 ms; all
/// instantiations of this class together cost as much as one.
template <class T>
class zeros : zeroed_memory {
  static_assert(std::is_arithmetic_v<T>);

 public:
  zeros() = default;
  /// Allocates `count` zeros and releases the previous array. Throws std::bad_alloc, which leaves that array in place.
  void allocate(std::size_t count) { zeroed_memory::allocate(count, sizeof(T)); }

  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data()[i]; }
};

}  // namespace dsl::detail::TYPENET_MODE
