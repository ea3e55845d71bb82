// SPDX-License-Identifier: MIT
// EXPECT: max_pool2d, avg_pool2d: the window is larger than its padded input; use a smaller window, more padding, or global_avg_pool2d
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::avg_pool2d<7(, 7)?>, (PoolH=)?7, (PoolW=)?7, (Input=)?.*shape\{8, 6, 6\}
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 6, 6>, dsl::conv2d<8, 3, 3>, dsl::global_avg_pool2d>;
#else
using model = dsl::network<dsl::image<3, 6, 6>, dsl::conv2d<8, 3, 3>, dsl::avg_pool2d<7>>;
#endif
constexpr dsl::shape output = model::output;
