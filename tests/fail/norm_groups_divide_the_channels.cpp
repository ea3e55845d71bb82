// SPDX-License-Identifier: MIT
// EXPECT: group_norm: the number of groups must divide the input's channels; change one of them
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::group_norm<3>, (Groups=)?3, (Channels=)?8
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 2;
#else
constexpr int number = 3;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::group_norm<number>>;
constexpr dsl::shape output = model::output;
