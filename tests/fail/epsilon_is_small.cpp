// SPDX-License-Identifier: MIT
// EXPECT: batch_norm: epsilon is larger than momentum, so the arguments seem swapped; write batch_norm<0.99, 1e-3>, momentum first; if it is intended, put the network's input in intended<...>
// EXPECT-RE: epsilon_is_small<.*dsl::at<0>, (Layer=)?dsl::batch_norm<.*>, (Epsilon=)?(dsl::)?number\{\(?(0\.99|9\.8999|9\.90000)
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::batch_norm<0.99, 1e-3>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::batch_norm<1e-3, 0.99>>;
#endif
constexpr dsl::shape output = model::output;
