// SPDX-License-Identifier: MIT
// EXPECT: layer: the compiler cannot evaluate its lower(); declare it constexpr, and call b.require() where it would throw or divide by 0; if every lower() is constexpr, the network may exceed a limit of the compiler: raise -fconstexpr-ops-limit (GCC) or -fconstexpr-steps (Clang)
// EXPECT-RE: lower_is_constant<.*dsl::at<2, 1, 1>::in<dsl::residual<.*shuffled>>, (Layer=)?shuffled
// The other layers can be evaluated, also those after it.
#include <dsl/language.hpp>

struct shuffled {
#ifdef FIXED
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) { return dsl::channel_shuffle<2>::lower(b, in); }
#else
  static dsl::value lower(dsl::builder& b, dsl::value in) { return dsl::channel_shuffle<2>::lower(b, in); }
#endif
};

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::relu,
                           dsl::residual<dsl::conv2d<4, 3>, shuffled>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
constexpr dsl::shape output = model::output;
static_assert(model::gives<dsl::shape{10}>);
