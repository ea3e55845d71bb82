// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// Throws option_error for a batch of so few samples. A weak reference, which error.hpp defines; null in a program none
/// of whose files includes that. The language calls it in the same way in every file, since two definitions of
/// training_bytes in one program would be whichever the linker takes, and can't include error.hpp: <stdexcept> alone
/// costs half as much to compile as the language, and the language needs no exceptions.
[[gnu::weak, noreturn]] void refuse_batch(int found);

/// Calls refuse_batch, or ends the program where nothing can be thrown. It stands in front of every definition of
/// refuse_batch, after which GCC warns that its address can't be null.
[[noreturn, gnu::cold]] inline void refuse_or_end(int found) {
  if (refuse_batch) refuse_batch(found);
  __builtin_trap();
}

}  // namespace dsl::detail
