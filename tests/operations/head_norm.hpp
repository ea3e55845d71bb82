// SPDX-License-Identifier: MIT
#pragma once

#include "operations/fixture.hpp"

namespace dsl::test {

template <>
struct fixture<op::head_norm> {
  static constexpr in_file in_onnx = in_file::refused;
  template <int C>
  using bodies = types<types<conv2d<6 * C, 1>, head_norm<2>, conv2d<3, 1>>,
                       types<conv2d<18, 1>, concat<head_norm<1>, head_norm<2>>, conv2d<2, 1>>,
                       types<conv2d<6 * C, 1>, frozen<head_norm<2>>, residual<head_norm<1>>, dsl::tanh>>;
  static std::vector<sample> samples() {
    return {{{.kind = op::head_norm, .groups = 2},
             {{12, 3, 2}},
             {12, 3, 2},
             {"head_norm", operations::makes::same_shape, 1, false, false, false, false, operations::slices::always,
              operations::renames::never},
             2}};
  }
  static int grow(graph_values& g, int in) {
    int const all = g.conv(in, 6, 1);
    g.parameter(role::gamma, {2, 1, 1, 1});
    return g.append({.kind = op::head_norm, .groups = 2}, {all}, g.shape_of(all));
  }
};

}  // namespace dsl::test

namespace head_norm_without_dsl {
using namespace dsl;
using test::rule_against;
static_assert(rule_against<pointwise_dense<12>, head_norm<3>> == rule::attention_has_whole_heads);
static_assert(rule_against<pointwise_dense<12>, head_norm<2>> == rule::holds);
static_assert(network<image<48, 8, 6>, head_norm<4>>::trainable_parameter_count == 4);
static_assert(network<image<48, 8, 6>, head_norm<4>>::view().parameters[0].rank == 3);
}  // namespace head_norm_without_dsl
