// SPDX-License-Identifier: MIT
// EXPECT: node: it must have as many operands as its operation takes; pass that many to append()
// EXPECT-RE: nodes_take_their_operands<.*dsl::at<1>, (Layer=)?sum
// EXPECT-RE: (Kind=)?.*(activation|op\)3), (Wanted=)?1, (Found=)?2
// An activation has two operands.
#include <dsl/language.hpp>

struct sum {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const both[] = {in, in};
#ifdef FIXED
    return b.append({.kind = dsl::op::add}, both, in.shape);
#else
    return b.append({.kind = dsl::op::activation}, both, in.shape);
#endif
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, sum>;
constexpr dsl::shape output = model::output;
