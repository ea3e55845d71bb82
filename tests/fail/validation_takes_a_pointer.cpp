// SPDX-License-Identifier: MIT
// EXPECT: fit: .validation takes a pointer to a data set; write .validation = &test
// EXPECT-RE: validation_takes_a_pointer<.*dataset
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data, dsl::dataset const& test) {
  t.fit(data, {.epochs = 3, .validation = &test});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data, dsl::dataset const& test) {
  t.fit(data, {.epochs = 3, .validation = test});
}
#endif
