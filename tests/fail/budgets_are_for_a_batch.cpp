// SPDX-License-Identifier: MIT
// LINES: 6
// EXPECT: memory_budget: the largest batch must have 1 sample or more
// EXPECT-RE: budgets_are_for_a_batch<.*(Batch=)?0, (Allowed=)?1048576
#include <dsl/language.hpp>

using namespace dsl::literals;
using layers =
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using model = dsl::memory_budget<8, 1_MiB, layers>;
#else
using model = dsl::memory_budget<0, 1_MiB, layers>;
#endif
static_assert(model::is_sound);
