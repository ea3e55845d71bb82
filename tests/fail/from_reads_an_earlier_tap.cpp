// SPDX-License-Identifier: MIT
// The arguments list the taps that run before the `from`, and those that run after it.
// EXPECT: from: a tap of the same name must run before it; the error's template arguments list the taps before it, then those after it; use the name of a tap before it, or move one of the two
// EXPECT-RE: from_reads_an_earlier_tap<.*dsl::at<3, 1>, (Layer=)?(dsl::from<.*|skip), (Before=)?dsl::types<dsl::tap<.*>, dsl::tap<.*>>?, (After=)?dsl::types<dsl::tap<
#include <dsl/language.hpp>

#ifdef FIXED
using skip = dsl::from<"half">;
#else
using skip = dsl::from<"hafl">;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::tap<"image">, dsl::conv2d<8, 3>, dsl::tap<"half">,
                           dsl::add<dsl::conv2d<8, 3>, skip>, dsl::tap<"sum">, dsl::conv2d<8, 3>,
                           dsl::concat<dsl::identity, dsl::from<"sum">>>;
constexpr dsl::shape output = model::output;
