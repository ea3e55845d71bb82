// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// A tower's place: what an executor must know to make the engine for it.
struct tower_place {
  int index = 0;
  int towers = 1;
  int device = 0;
};

}  // namespace dsl::detail
