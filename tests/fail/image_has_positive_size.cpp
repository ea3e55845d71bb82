// SPDX-License-Identifier: MIT
// EXPECT: image: channels, height and width must be at least 1
// EXPECT-RE: dsl::image<3, 0, 32>, (Size=dsl::)?(dsl::)?shape\{3, 0, 32\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu>;
#else
using model = dsl::network<dsl::image<3, 0, 32>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
