// SPDX-License-Identifier: MIT
// EXPECT: softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth or another softmax, not even through flatten; remove that layer, or move a dropout before the last dense layer; if it is intended, put the network's input in intended<...>
// EXPECT-RE: softmax_takes_logits<.*dsl::at<2>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::activation|\(dsl::op\)[0-9]+)
// Of ten classes, no probability could exceed 0.24.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::intended<dsl::features<4>>, dsl::dense<10>, dsl::sigmoid, dsl::softmax>;
#else
using model = dsl::network<dsl::features<4>, dsl::dense<10>, dsl::sigmoid, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
