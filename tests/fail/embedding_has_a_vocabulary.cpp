// SPDX-License-Identifier: MIT
// EXPECT: embedding: its vocabulary must have 1 to 16,777,216 tokens, and each token at least one feature; change these numbers
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::embedding<0, 8>, (Vocabulary=)?0, (Features=)?8
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int number = 96;
#else
constexpr int number = 0;
#endif
using model = dsl::network<dsl::token_numbers<16>, dsl::embedding<number, 8>, dsl::pointwise_dense<4>>;
constexpr dsl::shape output = model::output;
