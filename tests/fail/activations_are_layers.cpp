// SPDX-License-Identifier: MIT
// EXPECT: dense: it takes only the number of units; write the activation as the next layer: dense<64>, relu
// EXPECT-RE: activations_are_layers<.*dsl::at<0>, (Layer=)?dsl::dense<64, dsl::relu>, .*1
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::features<30>, dsl::dense<64>, dsl::relu, dsl::dense<2>, dsl::softmax>;
#else
using model = dsl::network<dsl::features<30>, dsl::dense<64, dsl::relu>, dsl::dense<2, dsl::softmax>>;
#endif
constexpr dsl::shape output = model::output;
