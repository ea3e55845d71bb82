// SPDX-License-Identifier: MIT
// EXPECT: image: channels come first; write image<3, 32, 32> for RGB images of 32x32 pixels
// EXPECT-RE: channels_come_first<.*dsl::image<28, 28, 1>, .*shape\{28, 28, 1\}
// Sequences of 28 numbers in 28 channels do have this shape.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::intended<dsl::image<28, 28, 1>>, dsl::conv2d<8, 3, 1>, dsl::relu>;
#else
using model = dsl::network<dsl::image<28, 28, 1>, dsl::conv2d<8, 3, 1>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
