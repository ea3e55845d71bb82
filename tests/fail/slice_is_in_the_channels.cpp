// SPDX-License-Identifier: MIT
// EXPECT: channel_slice: it must select at least one channel, all of them within the input; change the first channel or the count
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::channel_slice<6, 4>, (First=)?6, (Count=)?4, (Channels=)?8
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 4;
#else
constexpr int number = 6;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::channel_slice<number, 4>>;
constexpr dsl::shape output = model::output;
