// SPDX-License-Identifier: MIT
// EXPECT: dropout, stochastic_depth: the rate must be at least 0 and less than 1; 0.5 is usual for dropout, and 0.1 for stochastic_depth
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::dropout<.*>, (Rate=)?(dsl::)?number\{\(?(50\.0|5\.0+e\+0?1)\)?\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr double rate = 0.5;
#else
constexpr double rate = 50;
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu, dsl::dropout<rate>>;
constexpr dsl::shape output = model::output;
