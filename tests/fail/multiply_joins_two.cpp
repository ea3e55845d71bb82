// SPDX-License-Identifier: MIT
// EXPECT: multiply: there must be two branches; for more, put one multiply into another
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::multiply<.*dsl::conv2d<3, 3.*>, (Branches=)?3
#include <dsl/language.hpp>

#ifdef FIXED
using model =
    dsl::network<dsl::image<3, 32, 32>, dsl::multiply<dsl::relu, dsl::multiply<dsl::conv2d<3, 3>, dsl::identity>>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::multiply<dsl::relu, dsl::conv2d<3, 3>, dsl::identity>>;
#endif
constexpr dsl::shape output = model::output;
