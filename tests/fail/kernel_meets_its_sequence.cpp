// SPDX-License-Identifier: MIT
// EXPECT: conv1d: most of the kernel, with its dilation, would lie in the padding; use a shorter kernel or a smaller dilation, or begin with sequence<channels, length>; if it is intended, put the network's input in intended<...>
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv1d<8, 3>, (Length=)?3, (Input=)?1
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::sequence<1, 100>, dsl::conv1d<8, 3>>;
#else
using model = dsl::network<dsl::features<100>, dsl::conv1d<8, 3>>;
#endif
constexpr dsl::shape output = model::output;
