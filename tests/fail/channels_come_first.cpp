// SPDX-License-Identifier: MIT
// EXPECT: image: the channels seem to come last; write channels, height, width: image<3, 32, 32> for RGB images of 32x32 pixels, image<1, 28, 28> for grey images of 28x28; if it is intended, write intended<image<...>>
// EXPECT-RE: channels_come_first<.*dsl::image<32, 32, 3>, .*shape\{32, 32, 3\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu>;
#else
using model = dsl::network<dsl::image<32, 32, 3>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
