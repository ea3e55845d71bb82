// SPDX-License-Identifier: MIT
// EXPECT: warm_up, hold: the schedule comes before the number of epochs; write warm_up{cosine_decay{.base = 0.4}, 5} or hold{one_cycle{}, 25}
// EXPECT-RE: schedules_come_before_epochs<.*cosine_decay
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
dsl::learning_rate_schedule const large_batch{dsl::warm_up{dsl::cosine_decay{.base = 0.4}, 5}};
dsl::learning_rate_schedule const averaged{dsl::hold{dsl::one_cycle{.max_rate = 0.05}, 25}};
#else
dsl::learning_rate_schedule const large_batch{dsl::warm_up{5, dsl::cosine_decay{.base = 0.4}}};
#endif
