// SPDX-License-Identifier: MIT
// EXPECT: sequence: the kernel or window, with its dilation, covers more positions than its padded input has; use a shorter kernel or window, a smaller dilation or more padding
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::avg_pool1d<20>, (Length=)?20, (PaddedInput=)?16
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::sequence<3, 32>, dsl::max_pool1d<2>, dsl::avg_pool1d<16>>;
#else
using model = dsl::network<dsl::sequence<3, 32>, dsl::max_pool1d<2>, dsl::avg_pool1d<20>>;
#endif
constexpr dsl::shape output = model::output;
