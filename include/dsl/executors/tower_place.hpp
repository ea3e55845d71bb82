// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

/// The data about a tower that an executor needs to make its engine.
struct tower_place {
  int index = 0;
  int towers = 1;
  int device = 0;
};

}  // namespace dsl::detail::TYPENET_MODE
