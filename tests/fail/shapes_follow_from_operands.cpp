// SPDX-License-Identifier: MIT
// EXPECT: node: its output must have the shape that its operation gives for its operands; pass that shape to append()
// EXPECT-RE: shapes_follow_from_operands<.*dsl::at<1, 0>::in<doubled_twice>, (Layer=)?doubled
// EXPECT-RE: (Kind=)?.*(concat|op\)10), (Wanted=)?.*shape\{32, 8, 8\}, (Found=)?.*shape\{16, 8, 8\}
// The channels of a concat are the sum of its operands' channels.
#include <dsl/language.hpp>

struct doubled {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const both[] = {in, dsl::relu::lower(b, in)};
#ifdef FIXED
    return b.append({.kind = dsl::op::concat}, both, {2 * in.shape.channels, in.shape.height, in.shape.width});
#else
    return b.append({.kind = dsl::op::concat}, both, in.shape);
#endif
  }
};
struct doubled_twice : dsl::sequential<doubled, doubled> {};
using model = dsl::network<dsl::image<16, 8, 8>, dsl::relu, doubled_twice>;
constexpr dsl::shape output = model::output;
