// SPDX-License-Identifier: MIT
// EXPECT: add: every branch must have the shape of the first; change the filters, padding or strides of the branch that differs
// EXPECT-RE: dsl::at<1>, (Layer=)?residual<32>, (Branch=)?1, .*shape\{64, 32, 32\}, .*shape\{32, 32, 32\}
#include <dsl/language.hpp>

template <int Filters>
struct residual : dsl::add<dsl::identity, dsl::conv2d<Filters, 3, 3>> {};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3, 3>, residual<64>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3, 3>, residual<32>>;
#endif
constexpr dsl::shape output = model::output;
