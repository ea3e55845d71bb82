// SPDX-License-Identifier: MIT
// EXPECT: compile: the executor must come before the optimizer; swap them: compile<model>(native{}, sgd{})
// EXPECT-RE: compile_takes_the_executor_first<.*sgd.*reference
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::sgd{}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}, dsl::reference{}); }
#endif
