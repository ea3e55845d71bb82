// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/layer_norm/loops.hpp>
#include <dsl/operations/multiply/loops.hpp>

namespace dsl::plain {

/// An operation in plain loops. A step's operands are bound in the order in which its row says that it reads them.
template <class T>
struct loops {
  void (*forward)(host::bound_step<T> const&) = nullptr;
  void (*backward)(host::bound_step<T> const&) = nullptr;
};

/// The loops of each operation that needs nothing but its operands, by enum class op.
template <class T>
constexpr loops<T> loops_of(op kind) {
  switch (kind) {
    case op::multiply: return {multiply_forward<T>, multiply_backward<T>};
    case op::layer_norm: return {layer_norm_forward<T>, layer_norm_backward<T>};
    default: return {};
  }
}

}  // namespace dsl::plain
