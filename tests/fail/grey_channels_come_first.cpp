// SPDX-License-Identifier: MIT
// EXPECT: image: the channels seem to come last; write channels, height, width: image<3, 32, 32> for RGB images of 32x32 pixels, image<1, 28, 28> for grey images of 28x28; if it is intended, write intended<image<...>>
// EXPECT-RE: channels_come_first<.*dsl::image<28, 28, 1>, .*shape\{28, 28, 1\}
// The same shape could be meant as 28 channels of sequences of 28 numbers; then write intended<image<28, 28, 1>>.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::intended<dsl::image<28, 28, 1>>, dsl::conv2d<8, 3, 1>, dsl::relu>;
#else
using model = dsl::network<dsl::image<28, 28, 1>, dsl::conv2d<8, 3, 1>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
