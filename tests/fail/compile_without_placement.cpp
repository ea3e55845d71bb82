// SPDX-License-Identifier: MIT
// EXPECT: compile: a network on several devices needs <dsl/placement.hpp>
// Of placement only <dsl/placement/on.hpp> is included.
#include <dsl/dsl.hpp>
#include <dsl/placement/on.hpp>
#ifdef FIXED
#include <dsl/placement.hpp>
#endif

using first = dsl::on<dsl::device<0>, dsl::conv_module<4, 3>>;
using second = dsl::on<dsl::device<1>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
using model = dsl::network<dsl::image<3, 9, 9>, first, second>;
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3}); }
