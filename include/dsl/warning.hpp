// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>

#include <cstdio>

namespace dsl::TYPENET_MODE {

/// What the library says beside its errors, a sentence each: to standard error. A program may put its own function
/// here, before other threads use the library; it is called from whichever thread has something to say.
TYPENET_EXPORT inline void (*on_warning)(char const* sentence) = [](char const* sentence) {
  std::fprintf(stderr, "[WARNING] %s\n", detail::printable(sentence).c_str());
};

}  // namespace dsl::TYPENET_MODE
