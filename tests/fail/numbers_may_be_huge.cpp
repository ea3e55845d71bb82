// SPDX-License-Identifier: MIT
// Arithmetic on a network's numbers must not overflow: the compiler would report the overflow instead of the mistake.
// EXPECT: layer: its kernel has more than 2,147,483,647 weights; use fewer filters or units, or a smaller kernel or input
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv2d<2147483647
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int huge = 3;
#else
constexpr int huge = 2147483647;
#endif
using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<huge, huge, huge, huge>,
                           dsl::concat<dsl::conv2d<huge, 1>, dsl::conv2d<huge, 1>, dsl::conv2d<huge, huge>>>;
constexpr dsl::shape output = model::output;
