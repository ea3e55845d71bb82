// SPDX-License-Identifier: MIT
// EXPECT: loss: no loss is given, and the default, categorical_crossentropy, takes probabilities; end the network in softmax, or in softmax2d for a class per pixel, or give compile() another loss, as in {.loss = loss::mean_squared_error}
// EXPECT-RE: crossentropy_takes_probabilities<.*(dsl::network<.*dsl::dense<10>>|Network=model), (Last=)?.*(dense|op\)8)
// Without options, the loss is known to be cross-entropy. With options, compile() throws an option_error instead.
#include <dsl/dsl.hpp>

#ifdef FIXED
using last = dsl::sequential<dsl::dense<10>, dsl::softmax>;
#else
using last = dsl::dense<10>;
#endif
using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, last>;
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}); }
