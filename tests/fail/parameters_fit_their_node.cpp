// SPDX-License-Identifier: MIT
// EXPECT: parameter: its dims must fit its node; the error's last three template arguments are the index of the wrong dim, the size that the node needs there, and the size found; for example, the kernel of a conv2d is {out, in / groups, height, width}, and its bias {out, 1, 1, 1}
// EXPECT-RE: parameters_fit_their_node<.*dsl::at<1>, (Layer=)?widen<32>, (Kind=)?.*(conv2d|op\)1)
// EXPECT-RE: (Parameter=)?.*(kernel|role\)0), (Dimension=)?0, (Wanted=)?32, (Found=)?16
// The first two dims of the kernel are exchanged.
#include <dsl/language.hpp>

template <int Filters>
struct widen {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    int const c = in.shape.channels;
#ifdef FIXED
    b.parameter({.role = dsl::role::kernel, .dims = {Filters, c, 1, 1}, .fan_in = c, .fan_out = Filters});
#else
    b.parameter({.role = dsl::role::kernel, .dims = {c, Filters, 1, 1}, .fan_in = c, .fan_out = Filters});
#endif
    b.parameter({.role = dsl::role::bias, .dims = {Filters, 1, 1, 1}});
    return b.append({.kind = dsl::op::conv2d}, in, {Filters, in.shape.height, in.shape.width});
  }
};
using model = dsl::network<dsl::image<16, 8, 8>, dsl::relu, widen<32>>;
constexpr dsl::shape output = model::output;
