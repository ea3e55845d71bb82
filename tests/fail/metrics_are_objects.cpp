// SPDX-License-Identifier: MIT
// EXPECT: metrics: each must be an object such as dsl::f1_score<>{}, or of a class of your own with the same members; the accuracy is always computed
// EXPECT-RE: metrics_are_objects<(Found=)?.*char
#include <dsl/dsl.hpp>
#include <dsl/training/score_metrics.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.metrics = {dsl::f1_score<>{}}}); }
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.metrics = {"accuracy", "f1"}}); }
#endif
