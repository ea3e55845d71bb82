// SPDX-License-Identifier: MIT
// EXPECT: parameter: the order is wrong; declare kernel before bias, and for batch_norm gamma, beta, moving_mean, moving_variance in this order
// EXPECT-RE: parameters_come_in_order<.*dsl::at<1>, (Layer=)?normalised, (Kind=)?.*(batch_norm|op\)2)
// EXPECT-RE: (Wanted=)?.*(gamma|role\)2), (Found=)?.*(beta|role\)3)
// Gamma and beta have the same size, so they are easily exchanged.
#include <dsl/language.hpp>

struct normalised {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    using enum dsl::role;
#ifdef FIXED
    for (dsl::role r : {gamma, beta, moving_mean, moving_variance})
#else
    for (dsl::role r : {beta, gamma, moving_mean, moving_variance})
#endif
      b.parameter({.role = r, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = dsl::op::batch_norm, .epsilon = 1e-3, .momentum = 0.9}, in, in.shape);
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, normalised>;
constexpr dsl::shape output = model::output;
