// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: fit, compile: an option has a value of the wrong type; the error's template arguments are the option, the type that it takes, and the type found
// EXPECT-RE: options_take_their_type<.*field::loss, (Takes=)?dsl::loss, (Found=)?char ?\[4\]
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}, {.loss = dsl::loss::mean_squared_error, .seed = 7}); }
#else
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}, {.loss = "mse", .seed = 7}); }
#endif
