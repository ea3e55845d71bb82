// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT[gcc]: option: it takes one value, not a list; the error's template arguments are the option, the type that it takes, and the number of values found; augment takes several steps as in_order{...}
// EXPECT-RE[gcc]: options_take_one_value<dsl::broken::field::augment, .*augmentation, 2
// EXPECT-RE[clang]: error: no matching constructor for initialization of .*augmentation
// EXPECT-RE[nvcc]: augmentation
// Clang and nvcc say by themselves that an augmentation cannot be made of two values.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 5, .augment = dsl::in_order{dsl::random_crop{.padding = 4}, dsl::random_flip{}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 5, .augment = {dsl::random_crop{.padding = 4}, dsl::random_flip{}}});
}
#endif
