// SPDX-License-Identifier: MIT
// EXPECT: evaluate: it takes a data set and, if needed, batch_size as a number and the address of an observer, such as a confusion_matrix; write evaluate(test), evaluate(test, 64) or evaluate(test, 64, &confusion)
// EXPECT-RE: evaluate_takes_a_data_set<.*(false|0), .*dataset.*, .*confusion_matrix
#include <dsl/dsl.hpp>
#include <dsl/training/confusion_matrix.hpp>

#ifdef FIXED
void look(dsl::trainer& t, dsl::dataset const& test, dsl::confusion_matrix& seen) { t.evaluate(test, 64, &seen); }
#else
void look(dsl::trainer& t, dsl::dataset const& test, dsl::confusion_matrix& seen) { t.evaluate(test, seen); }
#endif
