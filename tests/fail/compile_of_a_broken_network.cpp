// SPDX-License-Identifier: MIT
// LINES: 7
// The error is reported once, wherever the network is first used.
// EXPECT: dense: the input still has a height and a width; put flatten before it
#include <dsl/dsl.hpp>

#ifdef FIXED
using last = dsl::sequential<dsl::flatten, dsl::dense<10>>;
#else
using last = dsl::dense<10>;
#endif
using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, last, dsl::softmax>;
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::sgd{}); }
