// SPDX-License-Identifier: MIT
// EXPECT: dilation: it must be at least 1; with 1, the kernel reads neighbouring pixels
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<8, 3, .*dilation\{2, 0\}>, (Dilation=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int columns = 1;
#else
constexpr int columns = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::conv2d<8, 3, dsl::dilation<2, columns>>>;
constexpr dsl::shape output = model::output;
