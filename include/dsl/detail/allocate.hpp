// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <new>
#include <utility>
#ifdef TYPENET_EMBEDDED
#include <dsl/detail/static_memory.hpp>
#endif

namespace dsl::detail::TYPENET_MODE {

/// Makes an object on the heap or, in an embedded program, in its static memory.
template <class T, class... A>
T* make(A&&... a) {
#ifdef TYPENET_EMBEDDED
  return ::new (static_memory::take(sizeof(T), alignof(T))) T(std::forward<A>(a)...);
#else
  return new T(std::forward<A>(a)...);
#endif
}
/// Destroys what make() returned. Static memory is never freed, so in an embedded program it does nothing.
template <class T>
void destroy([[maybe_unused]] T* p) {
#ifndef TYPENET_EMBEDDED
  delete p;
#endif
}

}  // namespace dsl::detail::TYPENET_MODE
