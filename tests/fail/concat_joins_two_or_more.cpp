// SPDX-License-Identifier: MIT
// EXPECT: concat: there must be at least two branches
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::concat<.*dsl::conv2d<8, 3.*>, (Branches=)?1
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::concat<dsl::conv2d<8, 3, 3>, dsl::identity>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::concat<dsl::conv2d<8, 3, 3>>>;
#endif
constexpr dsl::shape output = model::output;
