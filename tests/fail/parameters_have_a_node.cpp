// SPDX-License-Identifier: MIT
// EXPECT: parameter: the append() of its node must follow in the same layer; declare the parameter before the node
// EXPECT-RE: parameters_have_a_node<.*dsl::at<0>, (Layer=)?scores<10>, (LeftOver=)?4
// Parameters without a node would become those of the next layer's node.
#include <dsl/language.hpp>

template <int Units>
struct scores {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const out = dsl::dense<Units>::lower(b, in);
    using enum dsl::role;
    for (dsl::role r : {gamma, beta, moving_mean, moving_variance}) b.parameter({.role = r, .dims = {Units, 1, 1, 1}});
#ifdef FIXED
    return b.append({.kind = dsl::op::batch_norm, .epsilon = 1e-3, .momentum = 0.9}, out, out.shape);
#else
    return out;
#endif
  }
};
using model = dsl::network<dsl::features<4>, scores<10>, dsl::sigmoid>;
constexpr dsl::shape output = model::output;
