// SPDX-License-Identifier: MIT
// EXPECT: activation: the slope must be a finite number
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::leaky_relu<.*>, (Alpha=)?\+?\(?(\+?[Ii]nf|INF|1\.0 ?/ ?0)
#include <limits>

#include <dsl/language.hpp>

#ifdef FIXED
constexpr double slope = 0.1;
#else
constexpr double slope = std::numeric_limits<double>::infinity();
#endif
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<8, 3, 3>, dsl::leaky_relu<slope>>;
constexpr dsl::shape output = model::output;
