// SPDX-License-Identifier: MIT
// EXPECT: convolution: the number of groups must divide the input's channels and the filters; change one of them
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<32, 3, 3, 1, .*, 8>, (Groups=)?8, (Filters=)?32, .*shape\{12, 8, 8\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int groups = 4;
#else
constexpr int groups = 8;
#endif
using model =
    dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<12, 3>, dsl::conv2d<32, 3, 3, 1, dsl::padding::same, groups>>;
constexpr dsl::shape output = model::output;
