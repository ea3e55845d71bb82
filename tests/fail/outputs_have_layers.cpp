// SPDX-License-Identifier: MIT
// EXPECT: named_output: it must have at least one layer that computes something; add one
// EXPECT-RE: outputs_have_layers<.*dsl::at<1>, (Layer=)?(dsl::named_output<.*|head)
#include <dsl/language.hpp>

#ifdef FIXED
using head = dsl::named_output<"aux", dsl::identity, dsl::dense<10>>;
#else
using head = dsl::named_output<"aux", dsl::identity>;
#endif
using model = dsl::network<dsl::features<8>, dsl::dense<10>, head, dsl::softmax>;
constexpr dsl::shape output = model::output;
