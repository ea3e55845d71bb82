// SPDX-License-Identifier: MIT
// EXPECT: node: op::custom needs a custom_op with all four functions, and facts that declare one input, no parameters and nothing kept for the backward pass; give the missing function, or correct the facts
// EXPECT-RE: custom_operations_are_complete<.*dsl::at<1>, (Layer=)?negate
// One function is enough for predictions in float, but training would call a null pointer.
#include <dsl/language.hpp>

template <class T>
void nothing(dsl::custom_call<T> const&) {}
#ifdef FIXED
inline constexpr dsl::custom_op negation{"negate", nothing<float>, nothing<float>, nothing<double>, nothing<double>};
#else
inline constexpr dsl::custom_op negation{.name = "negate", .forward_float = nothing<float>};
#endif

struct negate {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    return b.append({.kind = dsl::op::custom, .custom = &negation}, in, in.shape);
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, negate>;
constexpr dsl::shape output = model::output;
