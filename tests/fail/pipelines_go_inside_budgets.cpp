// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: pipeline: a memory_budget must be outside of it; write memory_budget<64, 160_MiB, pipeline<M, ...>>
// EXPECT-RE: pipelines_go_inside_budgets<(2, dsl::memory_budget<8, .*, true>|.*Parts=2, Network=.*, HasBudget=true)
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>

using namespace dsl::literals;
using layers =
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using model = dsl::memory_budget<8, 1_MiB, dsl::pipeline<2, layers>>;
#else
using model = dsl::pipeline<2, dsl::memory_budget<8, 1_MiB, layers>>;
#endif
static_assert(model::is_sound);
