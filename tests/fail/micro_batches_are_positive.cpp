// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: pipeline: the number of micro-batches must be 1 or more
// EXPECT-RE: micro_batches_are_positive<(0, dsl::network<|.*Parts=0, Network=)
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using parts = dsl::pipeline<1, model>;
#else
using parts = dsl::pipeline<0, model>;
#endif
dsl::trainer make() { return dsl::compile<parts>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
constexpr int batch = parts::batch<8>;
constexpr long long bytes = parts::training_bytes(8);
