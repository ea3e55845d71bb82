// SPDX-License-Identifier: MIT
// ERRORS[gcc]: 4
// OUTPUT[gcc]: 6
// ERRORS[clang]: 2
// OUTPUT[clang]: 3
// EXPECT[gcc]: type/value mismatch at argument 2 in template parameter list for 'template<class Input, class ... Layers> struct dsl::network'
// EXPECT[gcc]: note: expected a type, got 'resnet18'
// EXPECT[clang]: use of class template 'dsl::models::resnet18' requires template arguments
// EXPECT[nvcc]: argument list for class template "dsl::models::resnet18" is missing
// Only the compiler can report this: what uses the type adds no more than two errors a line.
#include <dsl/dsl.hpp>
#include <dsl/models.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 64, 64>, dsl::models::resnet18<10>>;
#else
using model = dsl::network<dsl::image<3, 64, 64>, dsl::models::resnet18>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::adam{}, {.label_smoothing = 0.1}); }
