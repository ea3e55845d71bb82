// SPDX-License-Identifier: MIT
// EXPECT: layer: its modules are nested endlessly, or more than 100 deep; end the recursion with a specialization or if constexpr
// EXPECT-RE: modules_end<.*dsl::at<1>, (Layer=)?tower<1>
#include <dsl/language.hpp>

template <int Stage>
struct tower : dsl::sequential<dsl::conv_module<4, 3>, tower<Stage + 1>> {};
#ifdef FIXED
template <>
struct tower<40> : dsl::relu {};
#endif

using model = dsl::network<dsl::image<3, 8, 8>, dsl::max_pool2d<2>, tower<1>>;
constexpr dsl::shape output = model::output;
