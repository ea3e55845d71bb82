// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/mode.hpp>

#include <utility>

namespace dsl::detail::TYPENET_MODE {

/// A linked list of objects that never move, in the order they were made, for the few objects of a kind that an
/// executor keeps. A std::vector of std::unique_ptr costs every including file 40 ms for each type.
template <class T>
class chain {
  struct link {
    T value;
    link* next = nullptr;
    template <class... A>
    explicit link(A&&... a) : value(std::forward<A>(a)...) {}
  };

 public:
  chain() = default;
  chain(chain const&) = delete;
  chain& operator=(chain const&) = delete;
  ~chain() {
    while (first_) destroy(std::exchange(first_, first_->next));
  }

  template <class... A>
  T& emplace(A&&... a) {
    link* const made = make<link>(std::forward<A>(a)...);
    *end_ = made;
    end_ = &made->next;
    return made->value;
  }
  /// Destroys the i-th object, which must exist.
  void drop(int i) {
    link** at = &first_;
    while (i-- > 0) at = &(*at)->next;
    link* const gone = std::exchange(*at, (*at)->next);
    if (!*at) end_ = at;
    destroy(gone);
  }
  /// Destroys the last object.
  void drop_last() { drop(size() - 1); }
  /// Returns the i-th object, which must exist.
  T& operator[](int i) const {
    link* at = first_;
    while (i-- > 0) at = at->next;
    return at->value;
  }

  int size() const {
    int n = 0;
    for (link* at = first_; at; at = at->next) ++n;
    return n;
  }

  struct iterator {
    link* at;
    T& operator*() const { return at->value; }
    iterator& operator++() {
      at = at->next;
      return *this;
    }
    bool operator==(iterator const&) const = default;
  };
  iterator begin() const { return {first_}; }
  iterator end() const { return {nullptr}; }

 private:
  link* first_ = nullptr;
  link** end_ = &first_;
};

}  // namespace dsl::detail::TYPENET_MODE
