// SPDX-License-Identifier: MIT
// EXPECT: learning_rate_schedule: it takes a function of the epoch, or of a schedule_point, that returns the rate; a constant rate belongs to the optimizer
// EXPECT-RE: schedules_are_functions<(.*Found=)?(const )?double
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
constexpr double (*rate)(int) = [](int epoch) { return epoch < 10 ? 0.1 : 0.01; };
#else
constexpr double rate = 0.01;
#endif
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 20, .callbacks = {dsl::learning_rate_schedule{rate}}});
}
