// SPDX-License-Identifier: MIT
// EXPECT[gcc]: missing template arguments before '(' token
// EXPECT-RE[clang]: use of variable template 'dsl::(.*::)?compile' requires template arguments
// EXPECT-RE[nvcc]: argument list for variable template "dsl::(.*::)?compile" is missing
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{.learning_rate = 0.02}); }
#else
dsl::trainer make() { return dsl::compile(dsl::sgd{.learning_rate = 0.02}); }
#endif
