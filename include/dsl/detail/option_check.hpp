// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

namespace dsl::detail::TYPENET_MODE {

/// Throws option_error for invalid options of `name`: "fit: batch_size must be 1 or more; found 0; try 64". One
/// function, out of line, because a throw with its message at each place is 200 bytes of code.
struct option_check {
  char const* name;

  [[gnu::cold, gnu::noinline]] void need(bool holds, char const* must, piece const& found,
                                         char const* advice = nullptr) const {
    if (!holds)
      throw_error<option_error>({name, ": ", must, "; found ", found, advice ? "; " : "", advice ? advice : ""});
  }
};

}  // namespace dsl::detail::TYPENET_MODE
