// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// Throws option_error for a batch of `found` samples. A weak reference that error.hpp defines; null in a program that
/// never includes it. The language cannot include error.hpp: it needs no exceptions, and <stdexcept> alone costs half
/// as much to compile as the language. It makes the same weak call in every file, because two definitions of
/// training_bytes in one program would violate the one-definition rule.
[[gnu::weak, noreturn]] void refuse_batch(int found);

/// Calls refuse_batch if it is defined, and otherwise ends the program. It precedes every definition of refuse_batch,
/// since after one GCC warns that its address is never null.
[[noreturn, gnu::cold]] inline void refuse_or_end(int found) {
  if (refuse_batch) refuse_batch(found);
  __builtin_trap();
}

}  // namespace dsl::detail
