// SPDX-License-Identifier: MIT
// EXPECT: compile: after the executor there must be an optimizer, such as sgd{.learning_rate = 5e-3, .momentum = 0.9}
// EXPECT-RE: compile_takes_an_optimizer<.*nothing_or_options
// Keras's compile() has an option named optimizer. There is only one error: that typenet's compile() has no such option
// is not reported as well.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.seed = 1}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, {.optimizer = dsl::adam{}, .seed = 1}); }
#endif
