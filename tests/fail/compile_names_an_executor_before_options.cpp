// SPDX-License-Identifier: MIT
// EXPECT: compile: the executor must come before the optimizer; swap them: compile<model>(native{}, sgd{})
// The same error occurs with options.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;

#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::adam{}, {.seed = 1}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::adam{}, dsl::reference{}, {.seed = 1}); }
#endif
