// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: compile: it does not have this option; it has loss, losses, seed, batch_norm_momentum, unbiased_running_variance, label_smoothing, class_weights, loss_weights and verify; the optimizer, with its learning rate, is an argument before the options; epochs, batch_size and metrics are options of fit()
// EXPECT-RE: compile_has_this_option<.*field::metrics
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() {
  return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.loss = dsl::loss::categorical_crossentropy});
}
#else
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.metrics = {"accuracy"}}); }
#endif
