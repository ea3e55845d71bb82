// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/shape.hpp>

namespace dsl::rules {

/// The output shape of a broken network. It equals any other shape, so that an assertion about it does not cause a
/// second error.
struct unknown_shape : shape {
  friend constexpr bool operator==(unknown_shape const&, shape const&) { return true; }
};

/// A count in a broken network. All comparisons with it are true.
struct unknown_count {
  long long value = 0;

  constexpr operator long long() const { return value; }  // NOLINT(google-explicit-constructor)

  template <class T>
  friend constexpr bool operator==(unknown_count, T const&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator<(unknown_count, T const&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator<=(unknown_count, T const&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator>(unknown_count, T const&) {
    return true;
  }
  template <class T>
  friend constexpr bool operator>=(unknown_count, T const&) {
    return true;
  }
};

template <bool Sound>
struct constants {
  using shape = dsl::shape;
  using count = long long;
  using devices = int;
};
/// The types of a broken network's constants.
template <>
struct constants<false> {
  using shape = unknown_shape;
  using count = unknown_count;
  using devices = unknown_count;
};

}  // namespace dsl::rules
