// SPDX-License-Identifier: MIT
// EXPECT: convolution: the kernel's height and width must be at least 1
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<8, 3, 0.*, (KernelH=)?3, (KernelW=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int width = 3;
#else
constexpr int width = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu, dsl::conv2d<8, 3, width>>;
constexpr dsl::shape output = model::output;
