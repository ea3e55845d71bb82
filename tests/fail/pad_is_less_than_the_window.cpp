// SPDX-License-Identifier: MIT
// EXPECT: pad: the padding on each side must be at least 0 and less than the window's height or width
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<64, .*7.*>, (Pad=)?7, (Window=)?7
// 7 rows of padding below the image have room for a window of 7 rows that sees only zeros.
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int rows = 3;
#else
constexpr int rows = 7;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu,
                           dsl::conv2d<64, dsl::kernel<7>, dsl::stride<2>, dsl::pad<3, 3, rows, 3>>>;
constexpr dsl::shape output = model::output;
