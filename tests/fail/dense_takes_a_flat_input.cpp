// SPDX-License-Identifier: MIT
// EXPECT: dense: the input still has a height and a width; put flatten before it
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::dense<10>, (Input=)?.*shape\{64, 8, 8\}
#include <dsl/language.hpp>

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<64, 3, 3>,
#ifdef FIXED
                           dsl::flatten,
#endif
                           dsl::dense<10>>;
constexpr dsl::shape output = model::output;
