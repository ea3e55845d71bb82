// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>

#include <cstdio>

namespace dsl::TYPENET_MODE {

/// The function that is called with each warning, a sentence. By default it prints the warning to standard error. A
/// program may assign its own function before other threads use the library. It is called on whichever thread warns.
TYPENET_EXPORT inline void (*on_warning)(char const* sentence) = [](char const* sentence) {
  std::fprintf(stderr, "[WARNING] %s\n", detail::printable(sentence).c_str());
};

}  // namespace dsl::TYPENET_MODE
