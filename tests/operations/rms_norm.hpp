// SPDX-License-Identifier: MIT
#pragma once

#include "operations/fixture.hpp"

namespace dsl::test {

template <>
struct fixture<op::rms_norm> {
  static constexpr in_file in_onnx = in_file::same;
  template <int C>
  using bodies = types<types<rms_norm<0.1>, conv2d<3, 3>>, types<conv2d<C, 1>, frozen<rms_norm<>>, conv2d<3, 1>>,
                       types<concat<sequential<conv2d<C, 1>, rms_norm<>>, add<rms_norm<>, identity>>, conv2d<4, 1>,
                             flatten, rms_norm<1e-3>>>;
  static std::vector<sample> samples() {
    return {{{.kind = op::rms_norm, .epsilon = 0.1},
             {{4, 3, 2}},
             {4, 3, 2},
             {"rms_norm", operations::makes::same_shape, 1, false, true, true, true, operations::slices::always,
              operations::renames::never, plain::parts_of::samples}}};
  }
  static int grow(graph_values& g, int in) {
    shape const s = g.shape_of(in);
    g.parameter(role::gamma, {s.channels, 1, 1, 1});
    return g.append({.kind = op::rms_norm, .epsilon = 1e-3}, {in}, s);
  }
};

}  // namespace dsl::test

namespace rms_norm_without_dsl {
using namespace dsl;
static_assert(network<image<48, 4, 6>, rms_norm<>>::output == shape{48, 4, 6});
static_assert(network<image<48, 4, 6>, rms_norm<1e-5>>::parameter_count == 48);
static_assert(network<features<48>, rms_norm<>>::view().nodes[1].epsilon == 1.1920929e-7);
}  // namespace rms_norm_without_dsl
