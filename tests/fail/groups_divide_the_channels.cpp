// SPDX-License-Identifier: MIT
// EXPECT: conv2d: the number of groups must divide the input's channels and the filters; change one of them
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::conv2d<32, 3, 3, 1, .*, 8>, (Groups=)?8, (Filters=)?32, .*shape\{12, 8, 8\}
#include <dsl/language.hpp>

using dsl::padding;
#ifdef FIXED
using grouped = dsl::conv2d<32, 3, 3, 1, padding::same, 4>;
#else
using grouped = dsl::conv2d<32, 3, 3, 1, padding::same, 8>;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<12, 3>, grouped>;
constexpr dsl::shape output = model::output;
