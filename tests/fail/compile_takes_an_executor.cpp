// SPDX-License-Identifier: MIT
// EXPECT: compile: its first argument must be an executor, such as native{}; the executor may be left out, and then the first argument is the optimizer
// EXPECT-RE: compile_takes_an_executor<.*int
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::sgd{}); }
#else
dsl::trainer make() { return dsl::compile<model>(4, dsl::sgd{}); }
#endif
