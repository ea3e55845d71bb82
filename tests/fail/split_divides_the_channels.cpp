// SPDX-License-Identifier: MIT
// EXPECT: channel_split: there must be at least two branches, and their number must divide the input's channels; change the number of branches
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::channel_split<dsl::relu, dsl::sigmoid>, (Branches=)?2, (Channels=)?9
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 8;
#else
constexpr int number = 9;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<number, 3>, dsl::channel_split<dsl::relu, dsl::sigmoid>>;
constexpr dsl::shape output = model::output;
