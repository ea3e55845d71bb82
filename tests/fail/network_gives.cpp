// SPDX-License-Identifier: MIT
// EXPECT: gives: the network's output must have the shape that is asserted; change its last layers or the assertion
// EXPECT-RE: network_gives<.*(Wanted=)?(dsl::)?shape\{100, 1, 1\}, (Found=)?(dsl::)?shape\{10, 1, 1\}
#include <dsl/language.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
#ifdef FIXED
static_assert(model::gives<dsl::shape{10}>);
#else
static_assert(model::gives<dsl::shape{100}>);
#endif
