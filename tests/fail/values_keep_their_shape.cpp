// SPDX-License-Identifier: MIT
// EXPECT: value: it must keep the shape that its node gave it; append a node that produces the other shape
// EXPECT-RE: values_keep_their_shape<.*dsl::at<1>, (Layer=)?reshaped
// EXPECT-RE: (Given=)?.*shape\{12, 4, 4\}, (Made=)?.*shape\{3, 8, 8\}
// The same numbers in another shape are a different tensor.
#include <dsl/language.hpp>

struct reshaped {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value out = dsl::relu::lower(b, in);
#ifdef FIXED
#else
    out.shape = {4 * in.shape.channels, in.shape.height / 2, in.shape.width / 2};
#endif
    return out;
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, reshaped, dsl::conv2d<8, 3>>;
constexpr dsl::shape output = model::output;
