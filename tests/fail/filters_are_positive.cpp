// SPDX-License-Identifier: MIT
// EXPECT: convolution: there must be at least one filter
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv2d<0, 3.*>, (Filters=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int filters = 8;
#else
constexpr int filters = 0;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<filters, 3, 3>>;
constexpr dsl::shape output = model::output;
