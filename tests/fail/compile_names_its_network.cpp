// SPDX-License-Identifier: MIT
// EXPECT: compile: it takes a network in angle brackets; write compile<model>(...), where model is network<image<3, 32, 32>, ...> with your layers in it
// EXPECT-RE: compile_takes_a_network<.*nothing
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{.learning_rate = 0.02}); }
#else
dsl::trainer make() { return dsl::compile(dsl::sgd{.learning_rate = 0.02}); }
#endif
