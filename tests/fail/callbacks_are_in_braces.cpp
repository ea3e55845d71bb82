// SPDX-License-Identifier: MIT
// EXPECT[gcc]: callbacks: they are a list; write .callbacks = {...}, even for one callback
// EXPECT-RE[gcc]: callbacks_are_in_braces<.*terminate_on_nan
// EXPECT-RE[clang]: no viable conversion from 'dsl::terminate_on_nan' to 'std::vector<callback_handle>'
// EXPECT-RE[nvcc]: no suitable user-defined conversion from "dsl::.*terminate_on_nan" to "std::vector<dsl::.*callback_handle
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.callbacks = {dsl::terminate_on_nan{}}}); }
#else
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.callbacks = dsl::terminate_on_nan{}}); }
#endif
