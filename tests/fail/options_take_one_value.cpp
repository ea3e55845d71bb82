// SPDX-License-Identifier: MIT
// EXPECT: fit, compile: an option takes one value, not a list; the error's template arguments are the option, the type that it takes, and the number of values found; to combine augmentations, write .augment = in_order{...}
// EXPECT-RE: options_take_one_value<.*augment, .*augmentation, .*2
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
