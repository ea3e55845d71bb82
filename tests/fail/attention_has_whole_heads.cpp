// SPDX-License-Identifier: MIT
// EXPECT: attention: the input's channels must be queries, keys and values of equal size, and the number of heads must divide that size; change the number of heads or the layer before it
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::attention<5>, (Heads=)?5, (Channels=)?12
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 2;
#else
constexpr int number = 5;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<12, 1>, dsl::attention<number>>;
constexpr dsl::shape output = model::output;
