// SPDX-License-Identifier: MIT
// EXPECT: sequence: this layer needs an input of one row; begin with sequence<channels, length>, or use a layer for images, such as conv2d or max_pool2d
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv1d<8, 3>, (Input=)?.*shape\{3, 32, 32\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::sequence<3, 32>, dsl::conv1d<8, 3>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv1d<8, 3>>;
#endif
constexpr dsl::shape output = model::output;
