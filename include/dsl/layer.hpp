// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/builder.hpp>

namespace dsl {

/// The contract of a layer: an empty type whose static lower() appends its nodes to a graph and returns the value that
/// comes out. A user's own layer does what every layer of typenet does:
///
///   struct twice {  // x -> x + x
///     static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
///       dsl::value const both[] = {in, in};
///       return b.append({.kind = dsl::op::add}, both, 2, in.shape);
///     }
///   };
///
/// lower() runs at compile time. It says what must hold with b.require(); it must not fail on shapes that break its own
/// rules, since the sentence is said afterwards, once. examples/my_own_layer.cpp shows a rule of its own.
/// Combinators take any type: what is no layer is a broken rule like the others, said with its place.
template <class L>
concept layer = requires(value (*lower)(builder&, value)) { lower = &L::lower; };

/// A list of types; combinators name theirs `children`, so that an error can name the innermost layer.
template <class... Ts>
struct types {};

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

template <class Child>
constexpr value builder::lower_child(int index, value in) {
  return detail::lowering_of<Child>(*this, in, index);
}

}  // namespace dsl
