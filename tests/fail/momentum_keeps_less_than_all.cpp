// SPDX-License-Identifier: MIT
// EXPECT: batch_norm: momentum must be at least 0 and less than 1; 0.99 is usual
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::batch_norm<.*>, (Momentum=)?(dsl::)?number\{\(?(1\.0|1\.0+e\+0+)\)?\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr double momentum = 0.9;
#else
constexpr double momentum = 1;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::batch_norm<momentum>>;
constexpr dsl::shape output = model::output;
