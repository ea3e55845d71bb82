// SPDX-License-Identifier: MIT
// EXPECT: epsilon: it must be at least 1e-30, to be above 0 in float, and less than 1e30; 1e-3 is usual for batch_norm, and 1e-5 for layer_norm and group_norm
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::batch_norm<.*>, (Epsilon=)?(dsl::)?number\{\(?(0|0\.0|0\.0+e\+00)\)?\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr double epsilon = 1e-5;
#else
constexpr double epsilon = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::batch_norm<0.9, epsilon>>;
constexpr dsl::shape output = model::output;
