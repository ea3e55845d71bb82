// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// A text that needs no memory: a std::string has room for it in itself.
inline constexpr char const* no_memory = "out of memory";

/// Returns what make() returns, a text that tells others why they must stop, or no_memory if there is no memory for it.
/// They must be told in any case: otherwise they would wait forever.
template <class Make>
std::string failure_text(Make make) noexcept {
  try {
    return make();
  } catch (...) {
    return no_memory;
  }
}

}  // namespace dsl::detail::TYPENET_MODE
