// SPDX-License-Identifier: MIT
// ERRORS[gcc]: 7
// OUTPUT[gcc]: 9
// ERRORS[clang]: 1
// OUTPUT[clang]: 2
// ERRORS[nvcc]: 3
// OUTPUT[nvcc]: 13
// EXPECT[gcc]: 'leakyrelu' is not a member of 'dsl'; did you mean 'leaky_relu'?
// EXPECT[clang]: no template named 'leakyrelu' in namespace 'dsl'; did you mean 'leaky_relu'?
// EXPECT[nvcc]: namespace "dsl" has no member "leakyrelu"
// Only the compiler can report this: what uses the type adds no more than two errors a line.
#include <dsl/dsl.hpp>
#include <dsl/training/predictor.hpp>

#ifdef FIXED
using model = dsl::network<dsl::features<6>, dsl::dense<4>, dsl::leaky_relu<0.1>, dsl::dense<3>, dsl::softmax>;
#else
using model = dsl::network<dsl::features<6>, dsl::dense<4>, dsl::leakyrelu<0.1>, dsl::dense<3>, dsl::softmax>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.label_smoothing = 0.1}); }
dsl::predictor load() { return dsl::make_predictor<model>(dsl::native{}); }
