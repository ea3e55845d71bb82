// SPDX-License-Identifier: MIT
// EXPECT: value: it must be in the graph; pass only values that append() and lower() returned
// EXPECT-RE: values_are_in_the_graph<.*dsl::at<1>, (Layer=)?shortcut, (Tensor=)?-1(LL)?, (Tensors=)?3
// One of two operands is never set.
#include <dsl/language.hpp>

struct shortcut {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value both[2] = {dsl::conv2d<3, 3>::lower(b, in)};
#ifdef FIXED
    both[1] = in;
#endif
    return b.append({.kind = dsl::op::add}, both, in.shape);
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, shortcut>;
constexpr dsl::shape output = model::output;
