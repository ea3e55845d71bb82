// SPDX-License-Identifier: MIT
// EXPECT: activation: the slope must be at least 0 and less than 1e30
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::leaky_relu<.*\{\(?-.*>, (Alpha=)?(dsl::)?number\{\(?-
#include <dsl/language.hpp>

#ifdef FIXED
constexpr double slope = 0.25;
#else
constexpr double slope = -0.25;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::leaky_relu<slope>>;
constexpr dsl::shape output = model::output;
