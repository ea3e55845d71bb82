// SPDX-License-Identifier: MIT
// EXPECT: multiply: the branches must have the same number of channels, or one must have a single channel; they must also have the same height and width, or one must be a single pixel
// EXPECT-RE: dsl::at<1>, (Layer=)?squeeze_and_excite<64, 32>, .*shape\{64, 32, 32\}, .*shape\{32, 1, 1\}
#include <dsl/language.hpp>

template <int Channels, int Gates>
struct squeeze_and_excite
    : dsl::multiply<dsl::identity, dsl::sequential<dsl::global_avg_pool2d, dsl::conv2d<Channels / 4, 1>, dsl::relu,
                                                   dsl::conv2d<Gates, 1>, dsl::sigmoid>> {};

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3>, squeeze_and_excite<64, 64>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<64, 3>, squeeze_and_excite<64, 32>>;
#endif
constexpr dsl::shape output = model::output;
