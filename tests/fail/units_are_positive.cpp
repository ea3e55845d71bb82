// SPDX-License-Identifier: MIT
// EXPECT: units: there must be at least one
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::dense<0>, (Units=)?0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int classes = 10;
#else
constexpr int classes = 0;
#endif
using model = dsl::network<dsl::features<100>, dsl::dense<classes>>;
constexpr dsl::shape output = model::output;
