// SPDX-License-Identifier: MIT
// LINES: 6
// EXPECT: grouped: the channels must be a multiple of the groups
// EXPECT-RE: (grouped<4>::broken<|Groups=4, ).*dsl::at<1>, (In=)?.*shape\{18, 32, 32\}, (Wanted=)?4(LL)?, (Found=)?18
// A custom layer has its own message.
#include <dsl/language.hpp>

/// Splits its channels into groups, which the number of channels must allow.
template <int Groups>
struct grouped {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    int const channels = in.shape.channels;
    b.require(channels % Groups == 0,
              {.broken = dsl::rule::own_rule, .first = in.shape, .wanted = Groups, .found = channels});
    return dsl::relu::lower(b, in);
  }

  template <class At, dsl::shape In, long long Wanted, long long Found>
  struct broken {
    static constexpr bool holds = Found % Wanted == 0;
    static_assert(holds, "grouped: the channels must be a multiple of the groups");
  };
};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<16, 3, 3>, grouped<4>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<18, 3, 3>, grouped<4>>;
#endif
constexpr dsl::shape output = model::output;
