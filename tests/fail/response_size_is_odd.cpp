// SPDX-License-Identifier: MIT
// EXPECT: local_response_norm: the size must be odd, so that there are as many neighbours before each channel as after it; 5 is usual
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::local_response_norm<4>, (Size=)?4
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int size = 5;
#else
constexpr int size = 4;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::local_response_norm<size>>;
constexpr dsl::shape output = model::output;
