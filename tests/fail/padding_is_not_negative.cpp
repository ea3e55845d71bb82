// SPDX-License-Identifier: MIT
// EXPECT: zero_pad2d: it can only add rows and columns; each number must be at least 0
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::zero_pad2d<0, 0, -1, 1>, (Rows=)?-1
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int rows = 1;
#else
constexpr int rows = -1;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::zero_pad2d<0, 0, rows, 1>, dsl::max_pool2d<3, 2>>;
constexpr dsl::shape output = model::output;
