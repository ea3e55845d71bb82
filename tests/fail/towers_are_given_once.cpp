// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: replicate: the network already has towers; write replicate<G, ...> once
// EXPECT-RE: towers_are_given_once<(2, dsl::replicate<4, .*, true>|.*Towers=2, Network=.*, HasTowers=true)
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
using four_towers = dsl::replicate<4, model>;
#ifdef FIXED
using towers = dsl::replicate<8, model>;
#else
using towers = dsl::replicate<2, four_towers>;
#endif
dsl::trainer make() { return dsl::compile<towers>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
constexpr int batch = towers::batch<64>;
constexpr long long bytes = towers::training_bytes(64);
