// SPDX-License-Identifier: MIT
// The options have constructors that accept a list with an error. Without these, GCC would also report that no fit()
// takes the list.
// EXPECT[gcc]: has no non-static data member named 'epoch'
// EXPECT-RE[gcc]: 'dsl::(compiled::)?poly_decay' has no
// EXPECT-RE[clang]: field designator 'epoch' does not refer to any field in type 'dsl::(compiled::)?poly_decay'
// EXPECT-RE[nvcc]: (poly_decay.*"epoch"|"epoch".*poly_decay|"epoch")
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 4, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{.base = 0.02, .epochs = 4}}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 4, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{.base = 0.02, .epoch = 4}}}});
}
#endif
