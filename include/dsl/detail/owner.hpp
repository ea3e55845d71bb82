// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/mode.hpp>

#include <utility>

namespace dsl::detail::TYPENET_MODE {

/// A minimal std::unique_ptr for the library's own objects; each type of unique_ptr costs every including file 10 ms.
template <class T>
class owner {
 public:
  owner() = default;
  explicit owner(T* p) : p_(p) {}
  owner(owner&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  owner& operator=(owner&& other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~owner() { destroy(p_); }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

template <class T, class... A>
owner<T> make_owner(A&&... a) {
  return owner<T>(make<T>(std::forward<A>(a)...));
}

}  // namespace dsl::detail::TYPENET_MODE
