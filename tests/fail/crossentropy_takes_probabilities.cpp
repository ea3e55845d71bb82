// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: loss: categorical_crossentropy takes probabilities; end in softmax, or ask compile() for mean_squared_error
// EXPECT-RE: crossentropy_takes_probabilities<.*(dsl::network<.*dsl::dense<10>>|Network=model), (Last=)?.*(dense|op\)8)
// Without options the loss is known: it is cross-entropy. With options compile() throws the same as an option_error.
#include <dsl/dsl.hpp>

#ifdef FIXED
using last = dsl::sequential<dsl::dense<10>, dsl::softmax>;
#else
using last = dsl::dense<10>;
#endif
using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::flatten, last>;
dsl::trainer make() { return dsl::compile<model>(dsl::reference{}, dsl::sgd{}); }
