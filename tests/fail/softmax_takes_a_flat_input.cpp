// SPDX-License-Identifier: MIT
// EXPECT: softmax: the input still has a height and a width; put flatten and dense before it, or use softmax2d for one class per pixel
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::softmax, (Input=)?.*shape\{10, 8, 8\}
#include <dsl/language.hpp>

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<10, 3, 3>,
#ifdef FIXED
                           dsl::global_avg_pool2d,
#endif
                           dsl::softmax>;
constexpr dsl::shape output = model::output;
