// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>

namespace dsl {

/// One layer after the other.
template <class... Layers>
struct sequential {
  using children = types<Layers...>;

  static constexpr value lower(builder& b, value in) {
    if constexpr (sizeof...(Layers) > 0) {
      int i = 0;
      for (detail::lowering const* child : {&detail::lowering_of<Layers>...}) in = (*child)(b, in, i++);
    }
    return in;
  }
};

}  // namespace dsl
