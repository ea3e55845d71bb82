// SPDX-License-Identifier: MIT
// EXPECT: max_pool2d: the window has more than 65,536 values; use two smaller pools, one after the other
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::max_pool2d<300(, 300)?>, (WindowSize=)?90000
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<1, 600, 600>, dsl::max_pool2d<30>, dsl::max_pool2d<10>>;
#else
using model = dsl::network<dsl::image<1, 600, 600>, dsl::max_pool2d<300>>;
#endif
constexpr dsl::shape output = model::output;
