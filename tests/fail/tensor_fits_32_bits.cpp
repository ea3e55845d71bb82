// SPDX-License-Identifier: MIT
// EXPECT: layer: its output has more than 2,147,483,647 values per sample; use fewer channels or a smaller image
// EXPECT-RE: dsl::at<0>, (Layer=)?dsl::conv2d<4096, 3.*shape\{4096, 1024, 1024\}, (Elements=)?4294967296
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int filters = 2047;
#else
constexpr int filters = 4096;
#endif
using model = dsl::network<dsl::image<3, 1024, 1024>, dsl::conv2d<filters, 3, 3>>;
constexpr dsl::shape output = model::output;
