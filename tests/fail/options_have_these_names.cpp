// SPDX-License-Identifier: MIT
// EXPECT: dsl::broken::has_only_these_options<dsl::broken::field::epochs, dsl::broken::field::batch_size, dsl::broken::field::validation, dsl::broken::field::metrics, dsl::broken::field::augment, dsl::broken::field::callbacks, dsl::broken::field::average, dsl::broken::field::shuffle, dsl::broken::field::prefetch, dsl::broken::field::loader_threads, dsl::broken::field::cache, dsl::broken::field::initial_epoch>
// EXPECT-RE[gcc]: use of deleted function .*fit\(
// EXPECT[clang]: no matching member function for call to 'fit'
// EXPECT[nvcc]: trainer::fit" matches the argument list
// Without the overload that reports, the compilers would only print that they cannot convert the list.
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .batch_size = 32}); }
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .batchsize = 32}); }
#endif
