// SPDX-License-Identifier: MIT
// EXPECT: on: a device's number must be at least 0
// EXPECT-RE: dsl::at<0, 1>, (Layer=)?dsl::on<[^,]*-1[^,]*, dsl::.*>, (Device=)?-1
#include <dsl/language.hpp>
#include <dsl/placement/on.hpp>

#ifdef FIXED
constexpr int second = 1;
#else
constexpr int second = -1;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::add<dsl::relu, dsl::on<dsl::device<second>, dsl::sigmoid>>>;
constexpr dsl::shape output = model::output;
