// SPDX-License-Identifier: MIT
// LINES: 14
// EXPECT: pipeline: its second argument must be a network; write pipeline<M, network<image<3, 32, 32>, ...>>
// EXPECT-RE: pipeline_takes_a_network<.*(Parts=)?4, (Thing=)?(dsl::minigooglenet<10|layers)
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>

using layers = dsl::minigooglenet<10>;
#ifdef FIXED
using parts = dsl::pipeline<4, dsl::network<dsl::image<3, 32, 32>, layers>>;
#else
using parts = dsl::pipeline<4, layers>;
#endif
dsl::trainer make() { return dsl::compile<parts>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
