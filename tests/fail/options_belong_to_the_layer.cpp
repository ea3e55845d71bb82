// SPDX-License-Identifier: MIT
// EXPECT: options: the layer cannot take one of its arguments: it has no such option, or the option is given twice, or a number comes after a named option, or an average pool's ceil_mode comes before its count_padding<false>; the error's last template argument is the position of that argument, counted from 1
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv2d<64, .*kernel.*>, (Position=)?4
// A kernel and a stride are given, and then a second kernel.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, dsl::kernel<7>, dsl::stride<2>>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, dsl::kernel<7>, dsl::stride<2>, dsl::kernel<3>>>;
#endif
constexpr dsl::shape output = model::output;
