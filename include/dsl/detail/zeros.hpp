// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace dsl::detail::TYPENET_MODE {

/// Zeroed memory of its own. Of a large one no page is touched before its user does.
class zeroed_memory {
 public:
  zeroed_memory() = default;
  zeroed_memory(zeroed_memory const&) = delete;
  zeroed_memory& operator=(zeroed_memory const&) = delete;
  [[gnu::cold]] ~zeroed_memory() { std::free(data_); }

 protected:
  [[gnu::cold, gnu::noinline]] void allocate(std::size_t count, std::size_t bytes) {
    void* const made = std::calloc(count > 0 ? count : 1, bytes);
    if (!made) throw std::bad_alloc();
    std::free(data_);
    data_ = made, size_ = count;
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Numbers, 0 at first. Each type of std::vector that is made, moved and freed costs every including file 10 to 20 ms,
/// those of this class together as much as one.
template <class T>
class zeros : zeroed_memory {
  static_assert(std::is_arithmetic_v<T>);

 public:
  zeros() = default;
  /// Anew: what was there is gone. Throws std::bad_alloc, and then it is still there.
  void allocate(std::size_t count) { zeroed_memory::allocate(count, sizeof(T)); }

  T* data() const { return static_cast<T*>(data_); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data()[i]; }
};

}  // namespace dsl::detail::TYPENET_MODE
