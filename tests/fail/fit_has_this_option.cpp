// SPDX-License-Identifier: MIT
// EXPECT[gcc]: fit: it does not have this option; it has epochs, batch_size, validation, metrics, augment, callbacks, average, shuffle, prefetch, loader_threads, cache and initial_epoch; progress_bar{} is a callback
// EXPECT-RE[gcc]: fit_has_this_option<dsl::broken::field::verbose
// EXPECT[clang]: field designator 'verbose' does not refer to any field in type 'const fit_options'
// EXPECT[nvcc]: fit_options" has no field "verbose"
// Clang and nvcc name the option by themselves.
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 3, .callbacks = {dsl::terminate_on_nan{}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .verbose = 1}); }
#endif
