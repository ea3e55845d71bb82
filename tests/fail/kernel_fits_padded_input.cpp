// SPDX-License-Identifier: MIT
// EXPECT: conv2d: the kernel, with its dilation, covers more rows or columns than its padded input has; use a smaller kernel or dilation, more padding, or padding::same
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<16, 5, 5, 1, .*>, (KernelH=)?5, (KernelW=)?5, .*shape\{8, 8, 4\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr auto pad = dsl::padding::same;
#else
constexpr auto pad = dsl::padding::valid;
#endif
using model = dsl::network<dsl::image<3, 8, 4>, dsl::conv2d<8, 3, 3>, dsl::conv2d<16, 5, 5, 1, pad>>;
constexpr dsl::shape output = model::output;
