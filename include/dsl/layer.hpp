// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/builder.hpp>

namespace dsl {

/// Satisfied by a layer: an empty type whose static lower() appends its nodes to a graph and returns its output value.
/// You write your own layer in the same way as typenet's layers are written:
///
///   struct twice {  // x -> x + x
///     static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
///       dsl::value const both[] = {in, in};
///       return b.append({.kind = dsl::op::add}, both, 2, in.shape);
///     }
///   };
///
/// lower() runs at compile time. It states its rules with b.require() and must not itself fail on shapes that break
/// them: the error is reported later, once. examples/my_own_layer.cpp has a layer that defines a rule. Combinators
/// accept any type; a type that is not a layer breaks a rule like any other mistake and is reported with its position.
template <class L>
concept layer = requires(value (*lower)(builder&, value)) { lower = &L::lower; };

/// A list of types. A combinator has a member `children` of this type, so that an error can name the innermost layer.
template <class... Ts>
struct types {};

namespace option {
/// The first argument of on<...>.
struct device {
  int number;
};
}  // namespace option

/// A device of the machine, numbered from 0: a GPU, or a set of processor cores. It is a value, not a type, so that a
/// plain number in its place, on<1, ...>, breaks a rule instead of ending the declaration.
template <int I>
inline constexpr option::device device{I};

template <auto Device, class... Layers>
struct on;  // defined by <dsl/placement.hpp>

namespace detail {

/// Whether T is an on<...> although <dsl/placement.hpp> is not included.
template <class T>
inline constexpr bool lacks_placement = false;
template <auto Device, class... Layers>
inline constexpr bool lacks_placement<on<Device, Layers...>> = true;

/// A layer as a value. Combinators loop over an array of these, because Clang rejects fold expressions of more than 256
/// operands.
struct lowering {
  value (*lower)(builder&, value);
  detail::name name;

  constexpr value operator()(builder& b, value in, int index) const { return b.lower_child(index, name, lower, in); }
};

template <rule Broken>
constexpr value lower_no_layer(builder& b, value in) {
  b.require(false, {.broken = Broken, .first = in.shape});
  return in;
}

/// Lowers a layer. A type that is not a layer becomes a broken rule, so that the error is reported once and the
/// enclosing classes can still be instantiated.
template <class T>
inline constexpr lowering lowering_of{
    &lower_no_layer < lacks_placement<T> ? rule::on_needs_placement : rule::children_are_layers >, name_of<T>()};
template <layer L>
inline constexpr lowering lowering_of<L>{&L::lower, name_of<L>()};

}  // namespace detail

/// Lowers a child of a combinator; its declaration in graph/builder.hpp describes it.
template <class Child>
constexpr value builder::lower_child(int index, value in) {
  return detail::lowering_of<Child>(*this, in, index);
}

}  // namespace dsl
