// SPDX-License-Identifier: MIT
// EXPECT: image: channels come first; write image<3, 32, 32> for RGB images of 32x32 pixels
// EXPECT-RE: channels_come_first<.*dsl::image<32, 32, 3>, .*shape\{32, 32, 3\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu>;
#else
using model = dsl::network<dsl::image<32, 32, 3>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
