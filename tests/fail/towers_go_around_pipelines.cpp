// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: pipeline: towers must be outside of it; write replicate<G, pipeline<M, ...>>
// EXPECT-RE: towers_go_around_pipelines<(4, dsl::replicate<2, .*, true>|.*Parts=4, Network=.*, HasTowers=true)
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using parts_and_towers = dsl::replicate<2, dsl::pipeline<4, model>>;
#else
using parts_and_towers = dsl::pipeline<4, dsl::replicate<2, model>>;
#endif
dsl::trainer make() { return dsl::compile<parts_and_towers>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
constexpr int batch = parts_and_towers::batch<64>;
constexpr long long bytes = parts_and_towers::training_bytes(64);
