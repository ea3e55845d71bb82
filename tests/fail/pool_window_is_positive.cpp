// SPDX-License-Identifier: MIT
// EXPECT: max_pool2d, avg_pool2d: the window's height and width must be at least 1
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::avg_pool2d<0, 1>, (PoolH=)?0, (PoolW=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int size = 2;
#else
constexpr int size = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::avg_pool2d<size, 1>>;
constexpr dsl::shape output = model::output;
