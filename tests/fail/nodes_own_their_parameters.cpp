// SPDX-License-Identifier: MIT
// EXPECT: node: it must own its operation's parameters; declare all of them before it, and no others
// EXPECT-RE: nodes_own_their_parameters<.*dsl::at<1>, (Layer=)?mix<3>
// EXPECT-RE: (Kind=)?.*(conv2d|op\)1), (Wanted=)?2, (Found=)?0
// A convolution has no kernel. Using the network after the error adds no second one.
#include <dsl/language.hpp>

template <int Kernel>
struct mix {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
#ifdef FIXED
    int const c = in.shape.channels;
    int const fan = c * Kernel * Kernel;
    b.parameter({.role = dsl::role::kernel, .dims = {c, c, Kernel, Kernel}, .fan_in = fan, .fan_out = fan});
#endif
    return b.append({.kind = dsl::op::conv2d, .window = {Kernel, Kernel, 1, Kernel / 2, Kernel / 2}}, in, in.shape);
  }
};
using model = dsl::network<dsl::image<16, 8, 8>, dsl::relu, mix<3>>;
constexpr dsl::shape output = model::output;
constexpr long long bytes = model::training_bytes(4) + model::forward_macs;
