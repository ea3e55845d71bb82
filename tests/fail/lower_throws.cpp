// SPDX-License-Identifier: MIT
// EXPECT: layer: the compiler cannot evaluate its lower(); declare it constexpr, and call b.require() where it would throw or divide by 0; if every lower() is constexpr, the network may exceed a limit of the compiler: raise -fconstexpr-ops-limit (GCC) or -fconstexpr-steps (Clang)
// EXPECT-RE: lower_is_constant<.*dsl::at<5>, (Layer=)?pairs
// If lower() throws, compilers do not print what it throws. They print the sentence of a rule if lower() calls
// b.require().
#include <dsl/language.hpp>

struct pairs {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    if (in.shape.channels % 2 != 0) throw "an odd number of channels";
    return dsl::channel_shuffle<2>::lower(b, in);
  }
};

#ifdef FIXED
using model = dsl::network<dsl::image<4, 8, 8>, dsl::relu, dsl::relu, dsl::relu, dsl::relu, dsl::relu, pairs>;
#else
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, dsl::relu, dsl::relu, dsl::relu, dsl::relu, pairs>;
#endif
constexpr dsl::shape output = model::output;
