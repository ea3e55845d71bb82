// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: replicate: towers with a memory_budget can't share the moments of batch_norm; leave synchronized(...), or .moments = tower_moments::synchronized, out of the policy
// EXPECT-RE: towers_with_budgets_have_own_moments<.*(Synchronized=)?true
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using namespace dsl::literals;
using layers =
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
constexpr dsl::tower_policy policy = dsl::host_merge;
#else
constexpr dsl::tower_policy policy{.moments = dsl::tower_moments::synchronized};
#endif
using model = dsl::replicate<2, dsl::memory_budget<8, 1_MiB, layers>, policy>;
static_assert(model::is_sound);
