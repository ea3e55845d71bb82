// SPDX-License-Identifier: MIT
// EXPECT: layer: it breaks one of its own rules; to say which, give the layer a member class template named broken
// EXPECT-RE: dsl::at<1>, (Layer=)?grouped<4>, (In=)?.*shape\{18, 32, 32\}, (Wanted=)?4(LL)?, (Found=)?18
// A custom layer requires something but has no message.
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
};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<16, 3, 3>, grouped<4>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<18, 3, 3>, grouped<4>>;
#endif
constexpr dsl::shape output = model::output;
