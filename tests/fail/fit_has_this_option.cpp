// SPDX-License-Identifier: MIT
// EXPECT: fit: it does not have this option; the error's template arguments are the option, and those that fit has; validation data are .validation = &test, the learning rate belongs to the optimizer, class weights to compile(), weights of samples to the data set as in with_weights(data, weights), and printed progress to the callback progress_bar{}
// EXPECT-RE: fit_has_this_option<.*broken::field::verbose, .*options<.*field::epochs, .*field::batch_size, .*field::validation, .*field::metrics, .*field::augment, .*field::callbacks, .*field::average, .*field::shuffle, .*field::prefetch, .*field::loader_threads, .*field::cache, .*field::initial_epoch
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 3, .callbacks = {dsl::terminate_on_nan{}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .verbose = 1}); }
#endif
