// SPDX-License-Identifier: MIT
// EXPECT: upsample2d: the factor must be at least 1; 2 is usual
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::upsample2d<0(, \(?dsl::interpolation(::nearest|\)0))?>, (Factor=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int factor = 2;
#else
constexpr int factor = 0;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::upsample2d<factor>>;
constexpr dsl::shape output = model::output;
