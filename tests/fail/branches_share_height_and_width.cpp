// SPDX-License-Identifier: MIT
// EXPECT: concat: every branch must have the height and width of the first; change the padding or strides of the branch that differs
// EXPECT-RE: dsl::at<1>, (Layer=)?downsample<80, 96>, (Branch=)?1, .*shape\{80, 15, 15\}, .*shape\{96, 16, 16\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr auto pad = dsl::padding::valid;
#else
constexpr auto pad = dsl::padding::same;
#endif
template <int Left, int Right>
struct downsample : dsl::concat<dsl::conv2d<Left, 3, 3, 2, dsl::padding::valid>, dsl::conv2d<Right, 3, 3, 2, pad>> {};

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3, 3>, downsample<80, 96>>;
constexpr dsl::shape output = model::output;
