// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>

namespace dsl {
namespace detail {

/// A layer as a value: a loop over an array of these, since Clang stops at folds of more than 256.
struct lowering {
  value (*lower)(builder&, value);
  detail::name name;

  constexpr value operator()(builder& b, value in, int index) const { return b.lower_child(index, name, lower, in); }
};

constexpr value lower_no_layer(builder& b, value in) {
  b.require(false, {.broken = rule::children_are_layers, .first = in.shape});
  return in;
}

/// Of anything else than a layer: a broken rule, so that the sentence is said once and the classes around it exist.
template <class T>
inline constexpr lowering lowering_of{&lower_no_layer, name_of<T>()};
template <layer L>
inline constexpr lowering lowering_of<L>{&L::lower, name_of<L>()};

}  // namespace detail

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
