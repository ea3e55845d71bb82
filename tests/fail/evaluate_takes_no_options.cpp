// SPDX-License-Identifier: MIT
// EXPECT: evaluate: it takes a data set and, if needed, batch_size as a number and the address of an observer, such as a confusion_matrix; write evaluate(test), evaluate(test, 64) or evaluate(test, 64, &confusion)
// EXPECT-RE: evaluate_takes_a_data_set<.*options_in_braces
#include <dsl/dsl.hpp>

#ifdef FIXED
void look(dsl::trainer& t, dsl::dataset const& test) { t.evaluate(test, 32); }
#else
void look(dsl::trainer& t, dsl::dataset const& test) { t.evaluate(test, {.batch_size = 32}); }
#endif
