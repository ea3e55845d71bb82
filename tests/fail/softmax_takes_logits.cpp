// SPDX-License-Identifier: MIT
// EXPECT: softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth or another softmax, not even through flatten; remove that layer, or move a dropout before the last dense layer; if it is intended, put the network's input in intended<...>
// EXPECT-RE: softmax_takes_logits<.*dsl::at<3>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::dropout|\(dsl::op\)6)
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dropout<0.5>, dsl::dense<10>, dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::dropout<0.5>, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
