// SPDX-License-Identifier: MIT
// EXPECT: options: the layer does not have this option, or it is given twice; numbers come first, then options by name
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv2d<64, .*kernel.*>, (Argument=)?3
// A kernel and a stride are given, and then a second kernel.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, dsl::kernel<7>, dsl::stride<2>>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, dsl::kernel<7>, dsl::stride<2>, dsl::kernel<3>>>;
#endif
constexpr dsl::shape output = model::output;
