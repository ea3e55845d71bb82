// SPDX-License-Identifier: MIT
// EXPECT: compile: after the optimizer it takes only towers{...} (from <dsl/towers.hpp>) and options such as {.seed = 1}
// EXPECT-RE: compile_takes_options<.*int
// The error is the same if no executor is given.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}, {.seed = 1}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}, 1); }
#endif
