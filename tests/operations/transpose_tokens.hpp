// SPDX-License-Identifier: MIT
#pragma once

#include "operations/fixture.hpp"

namespace dsl::test {

template <>
struct fixture<op::transpose_tokens> {
  static constexpr in_file in_onnx = in_file::same;
  template <int C>
  using bodies = types<types<transpose_tokens, pointwise_dense<C>, transpose_tokens, dsl::tanh, conv2d<4, 1>>,
                       types<add<transpose_tokens, sequential<relu, transpose_tokens>>, pointwise_dense<3>>,
                       types<concat<transpose_tokens, sequential<dsl::tanh, transpose_tokens>>, pointwise_dense<2>>>;
  static std::vector<sample> samples() {
    return {{{.kind = op::transpose_tokens},
             {{4, 3, 2}},
             {6, 1, 4},
             {"transpose_tokens", operations::makes::transposed, 1, false, false, false, false,
              operations::slices::always, operations::renames::never, plain::parts_of::samples}}};
  }
  static int grow(graph_values& g, int in) {
    if (g.shape_of(in).height > 1) return in;
    auto const turned = [&](int t) {
      shape const s = g.shape_of(t);
      return g.append({.kind = op::transpose_tokens}, {t}, {static_cast<int>(s.area()), 1, s.channels});
    };
    return turned(g.act(turned(in), function::tanh));
  }
};

}  // namespace dsl::test

namespace transpose_tokens_without_dsl {
using namespace dsl;
using test::bare_node, test::rule_against;
static_assert(network<image<48, 4, 6>, transpose_tokens>::output == shape{24, 1, 48});
static_assert(network<image<48, 1, 1>, transpose_tokens>::output == shape{1, 1, 48});
static_assert(network<image<48, 4, 6>, transpose_tokens, pointwise_dense<9>>::forward_macs == 24 * 9 * 48);
static_assert(rule_against<bare_node<op::transpose_tokens, 64, 1, 4>> == rule::holds);
static_assert(rule_against<bare_node<op::transpose_tokens, 64, 4, 1>> == rule::shapes_follow_from_operands);
static_assert(rule_against<bare_node<op::transpose_tokens, 32, 1, 4>> == rule::shapes_follow_from_operands);
}  // namespace transpose_tokens_without_dsl
