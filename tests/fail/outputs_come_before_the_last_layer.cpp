// SPDX-License-Identifier: MIT
// EXPECT: named_output: a layer of the network must follow it; move it before the layers that compute the result
// EXPECT-RE: outputs_come_before_the_last_layer<.*dsl::at<2>, (Layer=)?(dsl::named_output<.*|head)
#include <dsl/language.hpp>

using head = dsl::named_output<"aux", dsl::dense<10>>;
#ifdef FIXED
using model = dsl::network<dsl::features<8>, dsl::dense<20>, head, dsl::dense<10>>;
#else
using model = dsl::network<dsl::features<8>, dsl::dense<20>, dsl::dense<10>, head>;
#endif
constexpr dsl::shape output = model::output;
