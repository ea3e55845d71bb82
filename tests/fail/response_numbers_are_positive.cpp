// SPDX-License-Identifier: MIT
// EXPECT: local_response_norm: alpha, beta and k must be at least 1e-30 and less than 1e30; 1e-4, 0.75 and 1 are usual
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::local_response_norm<5, .*>, (Number=)?.*0
#include <dsl/language.hpp>

#ifdef FIXED
constexpr double beta = 0.75;
#else
constexpr double beta = 0.0;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::local_response_norm<5, 1e-4, beta>>;
constexpr dsl::shape output = model::output;
