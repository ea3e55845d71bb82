// SPDX-License-Identifier: MIT
// EXPECT: named_output: its output must have the shape of the network's result, since both are compared with the same target; change its last layer
// EXPECT-RE: outputs_share_their_shape<.*dsl::at<1>, (Layer=)?(dsl::named_output<.*|head), .*shape\{12, 1, 1\}, .*shape\{10, 1, 1\}
#include <dsl/language.hpp>

#ifdef FIXED
using head = dsl::named_output<"aux", dsl::dense<10>>;
#else
using head = dsl::named_output<"aux", dsl::dense<12>>;
#endif
using model = dsl::network<dsl::features<8>, dsl::dense<20>, head, dsl::dense<10>>;
constexpr dsl::shape output = model::output;
