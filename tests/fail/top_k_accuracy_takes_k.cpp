// SPDX-License-Identifier: MIT
// EXPECT: top_k_accuracy: the number of outputs is a template argument; write top_k_accuracy<5>{}
#include <dsl/dsl.hpp>
#include <dsl/training/score_metrics.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data, dsl::dataset const& test) {
  t.fit(data, {.validation = &test, .metrics = {dsl::top_k_accuracy<3>{}}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data, dsl::dataset const& test) {
  t.fit(data, {.validation = &test, .metrics = {dsl::top_k_accuracy{3}}});
}
#endif
