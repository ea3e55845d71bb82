// SPDX-License-Identifier: MIT
// EXPECT: token_slice: it must select at least one token, all of them within the input; change the first token or the count
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::token_slice<15, 2>, (First=)?15, (Count=)?2, (Input=)?.*shape\{3, 4, 4\}
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 14;
#else
constexpr int number = 15;
#endif
using model = dsl::network<dsl::image<3, 4, 4>, dsl::relu, dsl::token_slice<number, 2>>;
constexpr dsl::shape output = model::output;
