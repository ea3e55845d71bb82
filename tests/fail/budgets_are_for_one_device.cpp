// SPDX-License-Identifier: MIT
// EXPECT: memory_budget: its third argument must be a network on one device, or a pipeline<...> of one, that has no budget yet; write memory_budget<64, 160_MiB, network<...>>, and put replicate<G, ...> around it, not inside
// EXPECT-RE: budget_takes_a_network<.*64, .*268435456
// If a memory_budget<...> is refused, its constants are unknown, so an assertion about them gives no second error.
#include <dsl/language.hpp>
#include <dsl/placement.hpp>

using namespace dsl::literals;
#ifdef FIXED
using chain =
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<8, 3>, dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
#else
using chain = dsl::network<dsl::image<3, 9, 9>, dsl::on<dsl::device<0>, dsl::conv_module<8, 3>>,
                           dsl::on<dsl::device<1>, dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>>;
#endif
using model = dsl::memory_budget<64, 256_MiB, chain>;
static_assert(model::output == dsl::shape{10});
static_assert(model::gives<dsl::shape{10}>);
