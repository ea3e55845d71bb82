// SPDX-License-Identifier: MIT
// EXPECT[gcc]: validation: it takes a pointer to a data set; write .validation = &test
// EXPECT-RE[gcc]: validation_takes_a_pointer<.*dataset
// EXPECT[clang]: no viable conversion from 'const dsl::dataset' to 'const dataset *'
// EXPECT[nvcc]: no suitable conversion function from "const dsl::header_only::dataset" to "const dsl::header_only::dataset *" exists
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
