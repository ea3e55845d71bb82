// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// Throws option_error for a batch of so few samples; null in a program that never includes error.hpp, which puts it
/// here. The language asks through it, since <stdexcept> is four times as much to compile as the language; and the same
/// way in every file, since two definitions of training_bytes in one program would be whichever the linker takes.
inline void (*refuse_batch)(int found) = nullptr;

}  // namespace dsl::detail
