// SPDX-License-Identifier: MIT
// EXPECT: fit: it does not have this option; it has epochs, batch_size, validation, metrics, augment, callbacks, average, shuffle, prefetch, loader_threads, cache and initial_epoch; validation data are .validation = &test, the learning rate belongs to the optimizer, class weights to compile(), weights of samples to the data set as in with_weights(data, weights), and printed progress to the callback progress_bar{}
// EXPECT-RE: fit_has_this_option<.*broken::field::verbose
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 3, .callbacks = {dsl::terminate_on_nan{}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .verbose = 1}); }
#endif
