// SPDX-License-Identifier: MIT
// EXPECT: layer: its kernel has more than 2,147,483,647 weights; use fewer filters or units, or a smaller kernel or input
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::dense<70000>, (Outputs=)?70000, (Numbers=)?4900000000
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int units = 30000;
#else
constexpr int units = 70000;
#endif
using model = dsl::network<dsl::features<70000>, dsl::dense<units>>;
constexpr dsl::shape output = model::output;
