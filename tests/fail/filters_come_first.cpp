// SPDX-License-Identifier: MIT
// EXPECT: convolution: the number of filters comes first, then the kernel's size, without the input's channels; write conv2d<64, 3> for 64 filters of 3x3, or conv1d<64, 5> for 64 of length 5; if the size is intended, name it, as in conv2d<3, kernel<64, 3>> and conv1d<3, kernel<64>, stride<5>>
// EXPECT-RE: filters_come_first<.*dsl::at<1>, (Layer=)?dsl::conv2d<16, 32, 3.*, (Filters=)?16, (KernelH=)?32, (KernelW=)?3, .*shape\{16, 64, 64\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 64, 64>, dsl::conv2d<16, 3>, dsl::conv2d<32, 3>, dsl::relu>;
#else
using model = dsl::network<dsl::image<3, 64, 64>, dsl::conv2d<16, 3>, dsl::conv2d<16, 32, 3>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
