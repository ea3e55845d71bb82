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

}  // namespace dsl
