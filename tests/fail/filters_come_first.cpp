// SPDX-License-Identifier: MIT
// EXPECT: convolution: the number of filters comes first, then the kernel's size, without the input's channels; write conv2d<64, 3> for 64 filters of 3x3; if you do want a 64x3 kernel, name it: conv2d<3, kernel<64, 3>>
// EXPECT-RE: filters_come_first<.*dsl::at<1>, (Layer=)?dsl::conv2d<16, 32, 3.*, (Filters=)?16, (KernelH=)?32, (KernelW=)?3, .*shape\{16, 64, 64\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 64, 64>, dsl::conv2d<16, 3>, dsl::conv2d<32, 3>, dsl::relu>;
#else
using model = dsl::network<dsl::image<3, 64, 64>, dsl::conv2d<16, 3>, dsl::conv2d<16, 32, 3>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
