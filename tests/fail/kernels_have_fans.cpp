// SPDX-License-Identifier: MIT
// EXPECT: parameter: a kernel's fan_in and fan_out must be at least 1; its initial values depend on them
// EXPECT-RE: kernels_have_fans<.*dsl::at<0>, (Layer=)?score, (Kind=)?.*(dense|op\)8), (FanIn=)?0, (FanOut=)?0
// Without them, the initial values would be infinite.
#include <dsl/language.hpp>

struct score {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
#ifdef FIXED
    b.parameter({.role = dsl::role::kernel, .dims = {1, 4, 1, 1}, .fan_in = 4, .fan_out = 1});
#else
    b.parameter({.role = dsl::role::kernel, .dims = {1, 4, 1, 1}});
#endif
    b.parameter({.role = dsl::role::bias});
    return b.append({.kind = dsl::op::dense}, in, {1, 1, 1});
  }
};
using model = dsl::network<dsl::features<4>, score>;
constexpr dsl::shape output = model::output;
