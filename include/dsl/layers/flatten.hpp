// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Flattens each sample: its numbers, in the order channel, row, column, become one flat vector.
struct flatten {
  static constexpr value lower(builder& b, value in) {
    long long const all = in.shape.size();
    return b.append({.kind = op::flatten}, in, {all <= 0x7fffffffLL ? static_cast<int>(all) : 1, 1, 1});
  }
};
// flatten on 64x8x8 -> 4096

/// Returns its input unchanged. It is the shortcut of a residual block: add<identity, ...>.
struct identity {
  static constexpr value lower(builder&, value in) { return in; }
};

}  // namespace dsl
