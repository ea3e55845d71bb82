// SPDX-License-Identifier: MIT
// EXPECT: softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth or another softmax, not even through flatten; remove that layer, or move a dropout before the last dense layer; if it is intended, put the network's input in intended<...>
// EXPECT-RE: softmax_takes_logits<.*dsl::at<4>, (Layer=)?dsl::softmax, (Before=)?(dsl::op::activation|\(dsl::op\)3)
// A layer in between that only moves values does not help. After tanh, which gives both signs, softmax is allowed.
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 4, 4>, dsl::conv2d<10, 4, 4, 1, dsl::padding::valid>, dsl::tanh,
                           dsl::channel_shuffle<2>, dsl::flatten, dsl::softmax>;
#else
using model = dsl::network<dsl::image<3, 4, 4>, dsl::conv2d<10, 4, 4, 1, dsl::padding::valid>, dsl::relu,
                           dsl::channel_shuffle<2>, dsl::flatten, dsl::softmax>;
#endif
constexpr dsl::shape output = model::output;
