// SPDX-License-Identifier: MIT
// EXPECT: windows and squares: the input's height and width must be multiples of Window or Side, and Shift must be at least 0 and less than Window; change these numbers, or the size of the images
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::window_attention<2, 5(, 0, 0)?>, (Window=)?5, (Shift=)?0, (Input=)?.*shape\{12, 8, 8\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 4;
#else
constexpr int number = 5;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<12, 1>, dsl::window_attention<2, number>>;
constexpr dsl::shape output = model::output;
