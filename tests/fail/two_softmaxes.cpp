// SPDX-License-Identifier: MIT
// EXPECT: softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth or another softmax, not even through flatten; remove that layer, or move a dropout before the last dense layer; if it is intended, put the network's input in intended<...>
// EXPECT-RE: softmax_takes_logits<.*dsl::at<3>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::softmax|\(dsl::op\)9)
#include <dsl/language.hpp>

#ifdef FIXED
using model =
    dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::softmax, dsl::dense<10>, dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::softmax, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
