// SPDX-License-Identifier: MIT
// EXPECT: conv2d: the kernel, with its dilation, covers more rows or columns than its padded input has; use a smaller kernel or dilation, more padding, or padding::same
// EXPECT-RE: dsl::at<1, 1, 1, 1, 0>::in<backbone<9>, stage<32, 9>, dsl::conv_module<32, 9, 9
// EXPECT-RE: (Layer=)?dsl::conv2d<32, 9, 9.*, (KernelH=)?9, (KernelW=)?9, .*shape\{16, 8, 8\}
// An error deep inside modules shows the position, the modules on the way, and the innermost layer.
#include <dsl/language.hpp>

template <int Filters, int Kernel>
struct stage
    : dsl::concat<dsl::conv_module<Filters, 1, 1, 1, dsl::padding::valid>,
                  dsl::sequential<dsl::relu, dsl::conv_module<Filters, Kernel, Kernel, 1, dsl::padding::valid>>> {};

template <int Kernel>
struct backbone : dsl::sequential<dsl::conv2d<16, 3, 3>, stage<32, Kernel>> {};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, backbone<1>>;
#else
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, backbone<9>>;
#endif
constexpr dsl::shape output = model::output;
