// SPDX-License-Identifier: MIT
// EXPECT: value: it must be used; return it, pass it to another node, or remove its node
// EXPECT-RE: values_are_read<.*dsl::at<1>, (Layer=)?gated, (Kind=)?.*(activation|op\)3), (Output=)?.*shape\{3, 8, 8\}
// The return value ignores the last node.
#include <dsl/language.hpp>

struct gated {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const wide = dsl::conv2d<3, 3>::lower(b, in);
    dsl::value const gate = dsl::sigmoid::lower(b, wide);
#ifdef FIXED
    return gate;
#else
    return wide;
#endif
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, gated>;
constexpr dsl::shape output = model::output;
