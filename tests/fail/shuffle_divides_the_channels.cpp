// SPDX-License-Identifier: MIT
// EXPECT: channels in groups: the number of groups, or of pixels that each group becomes, must divide the input's channels; change one of them
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::channel_shuffle<3>, (Groups=)?3, (Channels=)?8
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 2;
#else
constexpr int number = 3;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::channel_shuffle<number>>;
constexpr dsl::shape output = model::output;
