// SPDX-License-Identifier: MIT
// EXPECT[gcc]: dsl::broken::has_only_these_options<dsl::broken::field::patience, dsl::broken::field::min_delta, dsl::broken::field::mode, dsl::broken::field::baseline, dsl::broken::field::restore_best_weights, dsl::broken::field::start_from_epoch, dsl::broken::field::verbose>
// EXPECT-RE[gcc]: use of deleted function .*early_stopping\(
// EXPECT[clang]: dsl::broken::has_only_these_options<dsl::broken::field::patience, dsl::broken::field::min_delta, dsl::broken::field::mode, dsl::broken::field::baseline, dsl::broken::field::restore_best_weights, dsl::broken::field::start_from_epoch, dsl::broken::field::verbose>
// EXPECT-RE[clang]: call to deleted constructor of .*early_stopping<dsl::val_loss>
// EXPECT-RE[nvcc]: no instance of constructor "dsl::.*early_stopping<
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.callbacks = {dsl::early_stopping<dsl::val_loss>({.patience = 3})}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.callbacks = {dsl::early_stopping<dsl::val_loss>({.patiance = 3})}});
}
#endif
