// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <utility>

namespace dsl::detail::TYPENET_MODE {

struct destroyer {
  template <class T>
  void operator()(T* p) const {
    destroy(p);
  }
};

/// A std::unique_ptr for objects of make(), which are not on the heap in an embedded program.
template <class T>
using owner = std::unique_ptr<T, destroyer>;

template <class T, class... A>
owner<T> make_owner(A&&... a) {
  return owner<T>(make<T>(std::forward<A>(a)...));
}

}  // namespace dsl::detail::TYPENET_MODE
