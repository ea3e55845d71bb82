// SPDX-License-Identifier: MIT
// LINES: 14
// EXPECT: replicate: its second argument must be a network; write replicate<G, network<image<3, 32, 32>, ...>>
// EXPECT-RE: replicate_takes_a_network<.*(Towers=)?4, (Thing=)?(dsl::minigooglenet<10|layers)
#include <dsl/towers.hpp>
#include <dsl/dsl.hpp>

using layers = dsl::minigooglenet<10>;
#ifdef FIXED
using towers = dsl::replicate<4, dsl::network<dsl::image<3, 32, 32>, layers>>;
#else
using towers = dsl::replicate<4, layers>;
#endif
dsl::trainer make() { return dsl::compile<towers>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
