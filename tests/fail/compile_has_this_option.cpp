// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: compile: it does not have this option; the error's template arguments are the option, and those that compile has; the optimizer, with its learning rate, is an argument before the options; epochs, batch_size and metrics are options of fit()
// EXPECT-RE: compile_has_this_option<.*field::metrics, .*options<.*field::loss, .*field::losses, .*field::seed, .*field::batch_norm_momentum, .*field::unbiased_running_variance, .*field::label_smoothing, .*field::class_weights, .*field::loss_weights, .*field::verify
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() {
  return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.loss = dsl::loss::categorical_crossentropy});
}
#else
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.metrics = {"accuracy"}}); }
#endif
