// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: pipeline: the network already has micro-batches; write pipeline<M, ...> once
// EXPECT-RE: micro_batches_are_given_once<(2, dsl::pipeline<4, .*, true>|.*Parts=2, Network=.*, HasParts=true)
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
using four_parts = dsl::pipeline<4, model>;
#ifdef FIXED
using parts = dsl::pipeline<8, model>;
#else
using parts = dsl::pipeline<2, four_parts>;
#endif
dsl::trainer make() { return dsl::compile<parts>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
constexpr int batch = parts::batch<64>;
constexpr long long bytes = parts::training_bytes(64);
