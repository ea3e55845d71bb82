// SPDX-License-Identifier: MIT
// EXPECT: conv2d: most of the kernel, with its dilation, would lie in the padding; use a smaller kernel or dilation, or check the order of the arguments: filters, height, width; if it is intended, put the network's input in intended<...>
// EXPECT-RE: kernel_meets_its_input<.*dsl::at<0>, (Layer=)?dsl::conv2d<3, 64, 3.*, (KernelH=)?64, (KernelW=)?3, .*shape\{3, 32, 32\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3, 3>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<3, 64, 3>>;
#endif
constexpr dsl::shape output = model::output;
