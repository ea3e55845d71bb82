// SPDX-License-Identifier: MIT
// LINES: 14
// EXPECT: replicate: its second argument must be a network; write replicate<G, network<image<3, 32, 32>, ...>>
// EXPECT-RE: replicate_takes_a_network<.*4, (Thing=)?dsl::conv_module<8, 3
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using namespace dsl;
#ifdef FIXED
using model = replicate<4, network<image<3, 8, 8>, conv_module<8, 3>>>;
#else
using model = network<image<3, 8, 8>, replicate<4, conv_module<8, 3>>>;
#endif
constexpr shape output = model::output;
