// SPDX-License-Identifier: MIT
// EXPECT: network: the first type must be the input; put an input such as image<3, 32, 32> there
// EXPECT-RE: network_starts_with_an_input<.*conv2d<8, 3
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::relu>;
#else
using model = dsl::network<dsl::conv2d<8, 3, 3>, dsl::relu>;
#endif
constexpr dsl::shape output = model::output;
