// SPDX-License-Identifier: MIT
// LINES: 14
// EXPECT: pipeline: its second argument must be a network; write pipeline<M, network<image<3, 32, 32>, ...>>
// EXPECT-RE: pipeline_takes_a_network<.*2, (Thing=)?dsl::conv_module<8, 3
#include <dsl/language.hpp>
#include <dsl/placement.hpp>

using namespace dsl;
#ifdef FIXED
using model = pipeline<2, network<image<3, 8, 8>, conv_module<8, 3>>>;
#else
using model = network<image<3, 8, 8>, pipeline<2, conv_module<8, 3>>>;
#endif
constexpr shape output = model::output;
