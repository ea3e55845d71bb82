// SPDX-License-Identifier: MIT
// EXPECT: named_input: another one has the same name; give one of them another name
// EXPECT-RE: inputs_have_names_of_their_own<.*dsl::at<0, 2>, (Layer=)?(dsl::named_input<.*|other)
#include <dsl/language.hpp>

#ifdef FIXED
using other = dsl::named_input<"wind", dsl::features<4>>;
#else
using other = dsl::named_input<"weather", dsl::features<4>>;
#endif
using model =
    dsl::network<dsl::features<3>, dsl::concat<dsl::identity, dsl::named_input<"weather", dsl::features<4>>, other>,
                 dsl::dense<2>>;
constexpr dsl::shape output = model::output;
