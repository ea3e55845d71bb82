// SPDX-License-Identifier: MIT
// EXPECT: attention: the number of heads must divide a third of the input's channels, because the channels are queries, keys and values; change the number of heads, or put pointwise_dense<3 * Width> before it, where Width is a multiple of the number of heads
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::attention<5>, (Heads=)?5, (Channels=)?12
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 2;
#else
constexpr int number = 5;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<12, 1>, dsl::attention<number>>;
constexpr dsl::shape output = model::output;
