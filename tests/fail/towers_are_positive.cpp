// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: replicate: the number of towers must be 1 or more
// EXPECT-RE: towers_are_positive<(0, dsl::network<|.*Towers=0, Network=)
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using towers = dsl::replicate<1, model>;
#else
using towers = dsl::replicate<0, model>;
#endif
dsl::trainer make() { return dsl::compile<towers>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
constexpr int batch = towers::batch<8>;
constexpr long long bytes = towers::training_bytes(8);
