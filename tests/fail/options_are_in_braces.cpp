// SPDX-License-Identifier: MIT
// EXPECT: fit, compile: an option takes a list; write it in braces, as in .callbacks = {...}, even for one value
// EXPECT-RE: options_are_in_braces<.*callbacks, .*terminate_on_nan
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.callbacks = {dsl::terminate_on_nan{}}}); }
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.callbacks = dsl::terminate_on_nan{}}); }
#endif
