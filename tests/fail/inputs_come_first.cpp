// SPDX-License-Identifier: MIT
// EXPECT: node: only the first node may be an op::input, and image<...> appends it; for further inputs use named_input<...>
// EXPECT-RE: inputs_come_first<.*dsl::at<1>, (Layer=)?with_a_bias, (Kind=)?.*(input|op\)0), (Node=)?2
// The layer adds a second input, as if an input were a constant.
#include <dsl/language.hpp>

struct with_a_bias {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
#ifdef FIXED
    dsl::value const bias = in;
#else
    dsl::value const bias = b.append({.kind = dsl::op::input}, nullptr, 0, in.shape);
#endif
    dsl::value const both[] = {in, bias};
    return b.append({.kind = dsl::op::add}, both, in.shape);
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, with_a_bias>;
constexpr dsl::shape output = model::output;
