// SPDX-License-Identifier: MIT
// EXPECT: softmax: a relu, sigmoid, dropout, stochastic_depth or second softmax must not come directly before it; remove that layer
// EXPECT-RE: softmax_takes_logits<.*dsl::at<3>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::softmax|\(dsl::op\)9)
#include <dsl/language.hpp>

#ifdef FIXED
using model =
    dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::softmax, dsl::dense<10>, dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::softmax, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
