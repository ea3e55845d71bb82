// SPDX-License-Identifier: MIT
// EXPECT: on: its first argument must be a device; write on<device<1>, ...>
// EXPECT-RE: dsl::at<1>, (Layer=)?dsl::on<(\(int\))?1, dsl::conv2d<
#include <dsl/language.hpp>
#include <dsl/placement/on.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, dsl::on<dsl::device<1>, dsl::conv2d<8, 3>>>;
#else
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, dsl::on<1, dsl::conv2d<8, 3>>>;
#endif
constexpr dsl::shape output = model::output;
static_assert(model::device_count == 2);
