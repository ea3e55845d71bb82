// SPDX-License-Identifier: MIT
// EXPECT: tap: an earlier tap has the same name, and nothing reads its value before this tap replaces it; give one of the two taps another name, or put a from<...> of this name between them
// EXPECT-RE: taps_are_read_before_their_name_is_used_again<.*dsl::at<3>, (Layer=)?(dsl::tap<.*|second)
#include <dsl/language.hpp>

#ifdef FIXED
using second = dsl::tap<"coarse">;
using both = dsl::concat<dsl::identity, dsl::from<"coarse">>;
#else
using second = dsl::tap<"fine">;
using both = dsl::concat<dsl::identity, dsl::from<"fine">>;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<8, 3>, dsl::tap<"fine">, dsl::conv2d<8, 3>, second,
                           dsl::conv2d<8, 3>, dsl::add<dsl::identity, dsl::from<"fine">>, both>;
constexpr dsl::shape output = model::output;
