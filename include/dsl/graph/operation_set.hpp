// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>
#include <dsl/operations/table.hpp>

#include <cstdint>

namespace dsl {

/// The operations of a network, one bit for each op. Two more bits say whether a convolution has groups, and whether an
/// activation is not a ReLU, since these need kernels of their own. If the compiler knows the network, a program with
/// the headers alone contains the loops and kernels of these operations only, which saves a third of the compile time.
using operation_set = std::uint64_t;

/// The set of all operations, for networks that the compiler does not know.
inline constexpr operation_set all_operations = ~operation_set{0};

namespace detail {

inline constexpr operation_set grouped_convolutions = operation_set{1} << 62;
inline constexpr operation_set functions_but_relu = operation_set{1} << 63;

static_assert(operations::count <= 62);  // bits for operations

constexpr operation_set set_of(op kind) { return operation_set{1} << static_cast<int>(kind); }

/// Whether a set has at least one of some operations.
template <class... Ops>
constexpr bool has(operation_set all, Ops... kinds) {
  return (all & (set_of(kinds) | ...)) != 0;
}

}  // namespace detail

/// Returns the operations of a network.
constexpr operation_set operations_of(graph_view const& g) {
  operation_set all = 0;
  for (int k = 0; k < g.size.nodes; ++k) {
    node const& n = g.nodes[k];
    all |= detail::set_of(n.kind);
    if (detail::has(detail::set_of(n.kind), op::conv2d, op::conv2d_transpose) && n.groups > 1)
      all |= detail::grouped_convolutions;
    if (n.kind == op::activation && n.function != function::relu) all |= detail::functions_but_relu;
  }
  return all;
}

}  // namespace dsl
