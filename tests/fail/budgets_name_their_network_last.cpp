// SPDX-License-Identifier: MIT
// ERRORS[gcc]: 5
// OUTPUT[gcc]: 8
// ERRORS[clang]: 2
// OUTPUT[clang]: 3
// ERRORS[nvcc]: 2
// OUTPUT[nvcc]: 9
// EXPECT[gcc]: type/value mismatch at argument 1 in template parameter list for 'template<int Batch, long long int Bytes, class Network> struct dsl::memory_budget'
// EXPECT[gcc]: note: expected a constant of type 'int', got 'small'
// EXPECT[clang]: template argument for non-type template parameter must be an expression
// EXPECT[nvcc]: type name is not allowed
// Only the compiler can report this: what uses the type adds no more than two errors a line.
#include <dsl/dsl.hpp>

using namespace dsl::literals;
using small = dsl::network<dsl::features<6>, dsl::dense<4>, dsl::relu, dsl::dense<3>, dsl::softmax>;
#ifdef FIXED
using model = dsl::memory_budget<8, 1_MiB, small>;
#else
using model = dsl::memory_budget<small, 8, 1_MiB>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.label_smoothing = 0.1}); }
