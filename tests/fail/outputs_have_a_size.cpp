// SPDX-License-Identifier: MIT
// EXPECT: node: its output must have at least one channel, one row and one column; change the shape
// EXPECT-RE: outputs_have_a_size<.*dsl::at<1>, (Layer=)?halve
// EXPECT-RE: (Kind=)?.*(max_pool2d|op\)4), (Output=)?.*shape\{3, 0, 0\}
// Halving a single row leaves none.
#include <dsl/language.hpp>

struct halve {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    return b.append({.kind = dsl::op::max_pool2d, .window = {2, 2, 2}}, in,
                    {in.shape.channels, in.shape.height / 2, in.shape.width / 2});
  }
};
#ifdef FIXED
using model = dsl::network<dsl::image<3, 2, 2>, dsl::relu, halve>;
#else
using model = dsl::network<dsl::image<3, 1, 1>, dsl::relu, halve>;
#endif
constexpr dsl::shape output = model::output;
