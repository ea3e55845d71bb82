// SPDX-License-Identifier: MIT
// EXPECT: stride: it must be at least 1
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::max_pool2d<3, 0>, (Stride=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int stride = 2;
#else
constexpr int stride = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::max_pool2d<3, stride>>;
constexpr dsl::shape output = model::output;
