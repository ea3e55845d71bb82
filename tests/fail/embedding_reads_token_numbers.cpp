// SPDX-License-Identifier: MIT
// EXPECT: embedding: it must directly follow an input of the network that has one channel, such as token_numbers<...>; move it there
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::embedding<96, 8>, (Channels=)?1, (IsInput=)?(false|0)
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::token_numbers<16>, dsl::embedding<96, 8>, dsl::relu>;
#else
using model = dsl::network<dsl::token_numbers<16>, dsl::relu, dsl::embedding<96, 8>>;
#endif
constexpr dsl::shape output = model::output;
