// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::host::TYPENET_MODE {

/// Returns the number of a token: the integer nearest to `number`, or -1 if it is outside the vocabulary. Trainers
/// refuse such samples before a step; here, such a number must not lead to memory outside the kernel.
template <class T>
int token_of(T number, int vocabulary) {
  double const above = static_cast<double>(number) + 0.5;
  return above >= 0 && above < vocabulary ? static_cast<int>(above) : -1;  // and for a NaN
}

}  // namespace dsl::host::TYPENET_MODE
