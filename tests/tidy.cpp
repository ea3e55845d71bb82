// SPDX-License-Identifier: MIT
// For clang-tidy: everything a user includes, once.
#include <dsl/dsl.hpp>
