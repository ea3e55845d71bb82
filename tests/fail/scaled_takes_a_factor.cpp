// SPDX-License-Identifier: MIT
// EXPECT: scaled, initialized: the first argument must say what to set; write scaled<factor::learning_rate<0.1>, ...> or initialized<init::he_normal, ...>
// EXPECT-RE: settings_come_first<.*dsl::at<1>, (Layer=)?dsl::scaled<[^,]*5[^,]*, dsl::conv2d<64, 3>, dsl::relu>
#include <dsl/language.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::batch_norm<>,
                           dsl::scaled<dsl::factor::learning_rate<0.5>, dsl::conv2d<64, 3>, dsl::relu>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::batch_norm<>, dsl::scaled<0.5, dsl::conv2d<64, 3>, dsl::relu>>;
#endif
constexpr dsl::shape output = model::output;
