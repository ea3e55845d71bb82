// SPDX-License-Identifier: MIT
#pragma once

#include "operations/fixture.hpp"

namespace dsl::test {

template <>
struct fixture<op::merge_pixels> {
  static constexpr in_file in_onnx = in_file::refused;
  template <int C>
  using bodies = types<types<upsample2d<2>, merge_pixels<2>, conv2d<C, 1>, relu, merge_pixels<1>>,
                       types<upsample2d<6>, add<merge_pixels<3>, merge_pixels<3>>, conv2d<2, 1>>,
                       types<upsample2d<2>, concat<merge_pixels<2>, merge_pixels<2>>, conv2d<4, 1>>>;
  static std::vector<sample> samples() {
    return {{{.kind = op::merge_pixels},
             {{2, 4, 6}},
             {8, 2, 3},
             {"merge_pixels", operations::makes::merged, 1, false, false, false, false, operations::slices::always,
              operations::renames::never, plain::parts_of::samples}}};
  }
  static int grow(graph_values& g, int in) {
    int const twice = g.upsample(op::upsample_nearest, in, 2);
    shape const s = g.shape_of(twice);
    return g.append({.kind = op::merge_pixels}, {twice}, {4 * s.channels, s.height / 2, s.width / 2});
  }
};

}  // namespace dsl::test

namespace merge_pixels_without_dsl {
using namespace dsl;
using test::bare_node, test::rule_against;
static_assert(network<image<48, 8, 6>, merge_pixels<2>>::output == shape{192, 4, 3});
static_assert(network<image<48, 8, 6>, merge_pixels<1>>::output == shape{48, 8, 6});
static_assert(rule_against<merge_pixels<3>> == rule::windows_fill_the_image);
static_assert(rule_against<merge_pixels<0>> == rule::windows_fill_the_image);
static_assert(rule_against<bare_node<op::merge_pixels, 16, 4, 4>> == rule::holds);
static_assert(rule_against<bare_node<op::merge_pixels, 4, 4, 4>> == rule::shapes_follow_from_operands);
static_assert(rule_against<bare_node<op::merge_pixels, 36, 3, 3>> == rule::shapes_follow_from_operands);
static_assert(rule_against<bare_node<op::merge_pixels, 4, 16, 16>> == rule::windows_fill_the_image);
static_assert(rule_against<bare_node<op::merge_pixels, 4, 8, 8>> == rule::holds);  // of 1x1 pixels
template <int Height, int Width>
inline constexpr verdict odd =
    dsl::detail::checked<image<4, Height, Width>, bare_node<op::merge_pixels, 16, 4, 4>>::why;
static_assert(odd<9, 8>.broken == rule::windows_fill_the_image && odd<9, 8>.wanted == 2);
static_assert(odd<8, 9>.broken == rule::windows_fill_the_image && odd<8, 9>.wanted == 2);
}  // namespace merge_pixels_without_dsl
