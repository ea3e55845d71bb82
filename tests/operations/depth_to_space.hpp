// SPDX-License-Identifier: MIT
#pragma once

#include "operations/fixture.hpp"

namespace dsl::test {

constexpr allowance allowed_squares(char const* name, operations::makes output) {
  return {name,
          output,
          1,
          false,
          false,
          false,
          false,
          operations::slices::always,
          operations::renames::never,
          plain::parts_of::samples};
}

template <>
struct fixture<op::depth_to_space> {
  static constexpr in_file in_onnx = in_file::same;
  template <int C>
  using bodies =
      types<types<conv2d<4 * C, 1>, depth_to_space<2>, conv2d<3, 1>>,
            types<conv2d<4 * C, 1>, add<depth_to_space<2, depth_order::dcr>, depth_to_space<2>>, conv2d<3, 1>>,
            types<conv2d<9 * C, 1>, concat<depth_to_space<3>, depth_to_space<3, depth_order::dcr>>, conv2d<2, 1>>>;
  static std::vector<sample> samples() {
    allowance const allowed = allowed_squares("depth_to_space", operations::makes::squares);
    return {{{.kind = op::depth_to_space, .groups = 3}, {{12, 1, 2}}, {3, 2, 4}, allowed},
            {{.kind = op::depth_to_space, .groups = 2}, {{16, 2, 1}}, {4, 4, 2}, allowed}};
  }
  static int grow(graph_values& g, int in) {
    int const wide = g.concat({in, in, in, in}), first = g.shape_of(in).channels;
    shape const s = g.shape_of(wide);
    int const large =
        g.append({.kind = op::depth_to_space, .groups = first}, {wide}, {first, 2 * s.height, 2 * s.width});
    return g.pool(op::avg_pool2d, large, 2, 2);
  }
};

template <>
struct fixture<op::space_to_depth> {
  static constexpr in_file in_onnx = in_file::others;  // a Gather of channels is read as channel_shuffle
  template <int C>
  using bodies = types<
      types<upsample2d<2>, conv2d<C, 3>, space_to_depth<2>, conv2d<3, 1>>,
      types<upsample2d<2>, add<space_to_depth<2, depth_order::dcr>, space_to_depth<2>>, conv2d<3, 1>>,
      types<upsample2d<3>, conv2d<C, 3>, concat<space_to_depth<3>, space_to_depth<3, depth_order::dcr>>, conv2d<2, 1>>>;
  static std::vector<sample> samples() {
    allowance const allowed = allowed_squares("space_to_depth", operations::makes::merged);
    return {{{.kind = op::space_to_depth, .groups = 3}, {{3, 2, 4}}, {12, 1, 2}, allowed},
            {{.kind = op::space_to_depth, .groups = 2}, {{4, 4, 2}}, {16, 2, 1}, allowed}};
  }
  static int grow(graph_values& g, int in) {
    int const twice = g.upsample(op::upsample_nearest, in, 2);
    shape const s = g.shape_of(in);
    return g.append({.kind = op::space_to_depth, .groups = 1}, {twice}, {4 * s.channels, s.height, s.width});
  }
};

}  // namespace dsl::test

namespace depth_to_space_without_dsl {
using namespace dsl;
static_assert(network<image<64, 28, 20>, depth_to_space<2>>::output == shape{16, 56, 40});
static_assert(network<image<16, 56, 40>, space_to_depth<2, depth_order::dcr>>::output == shape{64, 28, 20});
static_assert(network<image<16, 5, 7>, space_to_depth<1>, depth_to_space<1>>::output == shape{16, 5, 7});
using test::bare_node, test::rule_against;
static_assert(rule_against<depth_to_space<3>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<depth_to_space<0>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<depth_to_space<0x10000>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<space_to_depth<3>> == rule::windows_fill_the_image);
static_assert(rule_against<space_to_depth<-1>> == rule::windows_fill_the_image);
static_assert(rule_against<bare_node<op::space_to_depth, 16, 4, 4, 2>> == rule::holds);
static_assert(rule_against<bare_node<op::space_to_depth, 16, 4, 4, 3>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<bare_node<op::space_to_depth, 16, 4, 4, 0>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<bare_node<op::space_to_depth, 8, 4, 4>> == rule::shapes_follow_from_operands);
using wide = conv2d<24, 1>;
static_assert(rule_against<wide, bare_node<op::depth_to_space, 6, 16, 16, 2>> == rule::holds);
static_assert(rule_against<wide, bare_node<op::depth_to_space, 6, 16, 16, 4>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<wide, bare_node<op::depth_to_space, 6, 16, 8>> == rule::shapes_follow_from_operands);
static_assert(rule_against<wide, bare_node<op::depth_to_space, 6, 40, 40>> == rule::shuffle_divides_the_channels);
static_assert(rule_against<wide, bare_node<op::depth_to_space, 6, 4, 8>> == rule::shuffle_divides_the_channels);
}  // namespace depth_to_space_without_dsl
