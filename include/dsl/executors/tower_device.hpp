// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

/// The facts about a tower that an executor needs in order to make the tower's engine.
struct tower_device {
  int index = 0;
  int towers = 1;
  int device = 0;
};

}  // namespace dsl::detail::TYPENET_MODE
