// SPDX-License-Identifier: MIT
// EXPECT: named_output: another output has the same name; give one of them another name
// EXPECT-RE: outputs_have_names_of_their_own<.*dsl::at<3>, (Layer=)?(dsl::named_output<.*|other)
#include <dsl/language.hpp>

#ifdef FIXED
using other = dsl::named_output<"aux2", dsl::dense<10>>;
#else
using other = dsl::named_output<"aux1", dsl::dense<10>>;
#endif
using model = dsl::network<dsl::features<8>, dsl::dense<20>, dsl::named_output<"aux1", dsl::dense<10>>, dsl::dense<20>,
                           other, dsl::dense<10>>;
constexpr dsl::shape output = model::output;
