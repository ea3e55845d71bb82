// SPDX-License-Identifier: MIT
// EXPECT: sequence: the length of a kernel or window must be at least 1
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::max_pool1d<0>, (Length=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int length = 2;
#else
constexpr int length = 0;
#endif
using model = dsl::network<dsl::sequence<3, 32>, dsl::relu, dsl::max_pool1d<length>>;
constexpr dsl::shape output = model::output;
