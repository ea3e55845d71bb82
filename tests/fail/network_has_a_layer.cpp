// SPDX-License-Identifier: MIT
// EXPECT: network: there is no layer after the input; add one
// EXPECT-RE: network_has_a_layer<.*dsl::sequential<>, (Layers=)?0
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::relu>;
#else
using model = dsl::network<dsl::image<3, 32, 32>>;
#endif
constexpr dsl::shape output = model::output;
