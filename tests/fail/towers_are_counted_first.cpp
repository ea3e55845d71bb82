// SPDX-License-Identifier: MIT
// ERRORS[gcc]: 5
// OUTPUT[gcc]: 8
// ERRORS[clang]: 2
// OUTPUT[clang]: 3
// ERRORS[nvcc]: 2
// OUTPUT[nvcc]: 9
// EXPECT[gcc]: type/value mismatch at argument 1 in template parameter list for 'template<int G, class Network, dsl::tower_policy Policy> struct dsl::replicate'
// EXPECT[gcc]: note: expected a constant of type 'int', got 'small'
// EXPECT[clang]: template argument for non-type template parameter must be an expression
// EXPECT[nvcc]: type name is not allowed
// Only the compiler can report this: what uses the type adds no more than two errors a line.
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using small = dsl::network<dsl::features<6>, dsl::dense<4>, dsl::relu, dsl::dense<3>, dsl::softmax>;
#ifdef FIXED
using model = dsl::replicate<2, small>;
#else
using model = dsl::replicate<small, 2>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.label_smoothing = 0.1}); }
