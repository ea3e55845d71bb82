// SPDX-License-Identifier: MIT
// LINES: 6
// EXPECT: memory_budget: its third argument must be a network on one device, or a pipeline<...> of one, that has no budget yet; write memory_budget<64, 160_MiB, network<...>>, and put replicate<G, ...> around it, not inside
// EXPECT-RE: budget_takes_a_network<.*(Batch=)?8, (Allowed=)?1048576(LL)?, (Thing=)?(dsl::replicate<2|towers)
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using namespace dsl::literals;
using layers =
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using model = dsl::replicate<2, dsl::memory_budget<8, 1_MiB, layers>>;
static_assert(model::is_sound);
#else
using towers = dsl::replicate<2, layers>;
using model = dsl::memory_budget<8, 1_MiB, towers>;
static_assert(!model::is_sound);
#endif
