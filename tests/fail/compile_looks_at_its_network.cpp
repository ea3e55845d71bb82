// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: dense: the input still has a height and a width; put flatten before it
// The return type of compile() is deduced, so naming the call is enough to get the error; clangd therefore shows it,
// too.
#include <dsl/dsl.hpp>

#ifdef FIXED
using last = dsl::sequential<dsl::flatten, dsl::dense<10>>;
#else
using last = dsl::dense<10>;
#endif
using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, last, dsl::softmax>;
using made = decltype(dsl::compile<model>(dsl::reference{}, dsl::sgd{}));
