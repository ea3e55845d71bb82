// SPDX-License-Identifier: MIT
// EXPECT: on: placing layers on devices needs a header; include <dsl/placement.hpp>
// EXPECT-RE: on_needs_placement<.*dsl::at<1>, (Layer=)?dsl::on<[^,]*1[^,]*, dsl::relu
#ifdef FIXED
#include <dsl/placement.hpp>
#endif
#include <dsl/language.hpp>

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<4, 3>, dsl::on<dsl::device<1>, dsl::relu>, dsl::flatten,
                           dsl::dense<10>, dsl::softmax>;
constexpr dsl::shape output = model::output;
