// SPDX-License-Identifier: MIT
#pragma once

#ifdef TYPENET_EMBEDDED
#include <dsl/detail/static_memory.hpp>

#include <new>
#endif

namespace dsl::detail {

/// A growing array for constant evaluation. std::vector would do, but <vector> costs every including file 150 ms, and
/// its push_back takes several times the evaluation steps (Clang stops at 1,048,576). A list may also borrow a constant
/// array until it has to grow.
template <class T>
class list {
 public:
  constexpr list() = default;
  /// Allocates nothing for size 0: nvcc does not take `new T[0]` for a constant.
  constexpr explicit list(int size) : data_(size > 0 ? make(size) : nullptr), size_(size), capacity_(size) {}
  constexpr list(int size, T const& fill) : list(size) {
    for (int i = 0; i < size; ++i) data_[i] = fill;
  }
  /// Returns a list that reads `size` elements of an array, which must outlive it. They must not be written to.
  static constexpr list borrowed(T const* data, int size) {
    list l;
    l.data_ = const_cast<T*>(data);
    l.size_ = size;
    return l;
  }
  constexpr list(list const& other) {
    reserve(other.size_);
    for (int i = 0; i < other.size_; ++i) data_[i] = other.data_[i];
    size_ = other.size_;
  }
  constexpr list(list&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr list& operator=(list const& other) {
    if (this == &other) return *this;
    list copy(other);
    swap(copy);
    return *this;
  }
  constexpr list& operator=(list&& other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~list() { release(); }

  constexpr void reserve(int capacity) {
    if (capacity <= capacity_) return;
    T* grown = make(capacity);
    for (int i = 0; i < size_; ++i) grown[i] = data_[i];
    release();
    data_ = grown;
    capacity_ = capacity;
  }
  constexpr int push(T const& value) {
    if (size_ >= capacity_) {
      // value may live in the array that reserve() is about to free
      T const copy = value;  // NOLINT(performance-unnecessary-copy-initialization)
      reserve(size_ < 8 ? 16 : 2 * size_);
      data_[size_] = copy;
    } else {
      data_[size_] = value;
    }
    return size_++;
  }
  constexpr void clear() { size_ = 0; }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    --size_;
  }
  constexpr void insert(int at, T const& value) {
    T const copy = value;
    push(copy);
    for (int i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = copy;
  }

#ifdef _GLIBCXX_ASSERTIONS  // as in the standard library's containers
  constexpr T& operator[](int i) { return i >= 0 && i < size_ ? data_[i] : (__builtin_trap(), data_[0]); }
  constexpr T const& operator[](int i) const { return i >= 0 && i < size_ ? data_[i] : (__builtin_trap(), data_[0]); }
#else
  constexpr T& operator[](int i) { return data_[i]; }
  constexpr T const& operator[](int i) const { return data_[i]; }
#endif
  constexpr int size() const { return size_; }
  constexpr T const* begin() const { return data_; }
  constexpr T const* end() const { return data_ + size_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }

 private:
  static constexpr T* make(int capacity) {
#ifdef TYPENET_EMBEDDED
    if (!__builtin_is_constant_evaluated()) {
      T* const made = static_cast<T*>(static_memory::take(static_cast<long long>(sizeof(T)) * capacity, alignof(T)));
      for (int i = 0; i < capacity; ++i) ::new (made + i) T{};
      return made;
    }
#endif
    return new T[static_cast<unsigned>(capacity)]{};
  }
  constexpr void release() {
#ifdef TYPENET_EMBEDDED
    if (!__builtin_is_constant_evaluated()) return;
#endif
    if (capacity_ > 0) delete[] data_;
  }
  constexpr void swap(list& other) noexcept {
    T* const data = data_;
    int const size = size_;
    int const capacity = capacity_;
    data_ = other.data_, size_ = other.size_, capacity_ = other.capacity_;
    other.data_ = data, other.size_ = size, other.capacity_ = capacity;
  }

  T* data_ = nullptr;
  int size_ = 0;
  int capacity_ = 0;
};

}  // namespace dsl::detail
