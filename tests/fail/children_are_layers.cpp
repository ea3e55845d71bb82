// SPDX-License-Identifier: MIT
// EXPECT: layer: this type is not a layer; a layer has a public static constexpr value lower(builder&, value); if the compiler reports an error in its base class first, fix that one
// EXPECT-RE: children_are_layers<.*dsl::at<1, 0>, (Layer=)?int
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::concat<dsl::relu, dsl::sigmoid>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::concat<int, dsl::sigmoid>>;
#endif
constexpr dsl::shape output = model::output;
