// SPDX-License-Identifier: MIT
// EXPECT: softmax: the softmax of one number is always 1; use two or more units, or sigmoid; if it is intended, put the network's input in intended<...>
// EXPECT-RE: softmax_has_classes<.*dsl::at<2>, (Layer=)?dsl::softmax, (Classes=)?1
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<2>, dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<1>, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
