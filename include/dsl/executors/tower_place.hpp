// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

/// A tower's place: what an executor must know to make the engine for it.
struct tower_place {
  int index = 0;
  int towers = 1;
  int device = 0;
};

}  // namespace dsl::detail::TYPENET_MODE
