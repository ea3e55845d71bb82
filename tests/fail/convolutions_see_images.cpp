// SPDX-License-Identifier: MIT
// EXPECT: conv2d: its input is flat, without rows and columns; put it before flatten and dense, or begin with image<channels, height, width>; if it is intended, put the network's input in intended<...>
// EXPECT-RE: convolutions_see_images<.*dsl::at<4>, (Layer=)?dsl::conv2d<16, 3.*, (KernelH=)?3, (KernelW=)?3, .*shape\{2048, 1, 1\}
// Such a convolution could be computed, but eight of the nine numbers of each kernel would see only padding. A layer
// between flatten and the convolution does not change this.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3>, dsl::max_pool2d<2>, dsl::conv2d<16, 3>, dsl::relu,
                           dsl::flatten>;
// Whatever is pooled to a single pixel is an image.
using pooled = dsl::network<dsl::image<3, 32, 32>, dsl::global_avg_pool2d, dsl::conv2d<16, 3>>;
static_assert(pooled::output == dsl::shape{16});
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3>, dsl::max_pool2d<4, 2, dsl::pad<1>>, dsl::flatten,
                           dsl::relu, dsl::conv2d<16, 3>>;
#endif
constexpr dsl::shape output = model::output;
