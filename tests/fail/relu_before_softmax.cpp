// SPDX-License-Identifier: MIT
// EXPECT: softmax: no relu, dropout or other softmax may come right before it; leave that out
// EXPECT-RE: softmax_takes_logits<.*dsl::at<3>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::activation|\(dsl::op\)3)
// Behind a flatten, too; tanh gives any sign.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 4, 4>, dsl::conv2d<10, 4, 4, 1, dsl::padding::valid>, dsl::tanh, dsl::flatten,
                           dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 4, 4>, dsl::conv2d<10, 4, 4, 1, dsl::padding::valid>, dsl::relu, dsl::flatten,
                           dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
