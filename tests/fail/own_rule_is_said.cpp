// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: layer: it breaks its own rule, but its member template 'broken' reports nothing; declare static constexpr bool holds in it, and static_assert(holds)
// EXPECT-RE: own_rule_is_said<.*dsl::at<1>, (Layer=)?grouped<4>, (Said=)?(false|0|\(bool\)0)
// The condition in `broken` differs from the one in lower(), so the static_assert holds although the rule is broken.
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
    static constexpr bool holds = Found % 2 == 0;
    static_assert(holds, "grouped: the channels must be a multiple of the groups");
  };
};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<16, 3, 3>, grouped<4>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<18, 3, 3>, grouped<4>>;
#endif
constexpr dsl::shape output = model::output;
