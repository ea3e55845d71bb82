// SPDX-License-Identifier: MIT
// EXPECT: node: the output of an op::custom that works in place must have the shape of its input; pass that shape to append(), or set the facts forward_in_place, gradient_in_place and gradient_over_input to false
// EXPECT-RE: operations_in_place_keep_their_shape<.*dsl::at<1>, (Layer=)?first_half, .*shape{6, 8, 8}, .*shape{3, 8, 8}
// The output of forward() would be written over its input, but is smaller.
#include <dsl/language.hpp>

#ifdef FIXED
constexpr bool in_place = false;
#else
constexpr bool in_place = true;
#endif

template <class T>
void nothing(dsl::custom_call<T> const&) {}
inline constexpr dsl::custom_op half{"half", nothing<float>, nothing<float>, nothing<double>, nothing<double>, [] {
                                       dsl::operations::row facts = dsl::operations::custom;
                                       facts.forward_in_place = in_place;
                                       return facts;
                                     }()};

struct first_half {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    return b.append({.kind = dsl::op::custom, .custom = &half}, in,
                    {in.shape.channels / 2, in.shape.height, in.shape.width});
  }
};
using model = dsl::network<dsl::image<6, 8, 8>, dsl::relu, first_half>;
constexpr dsl::shape output = model::output;
